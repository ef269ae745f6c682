import { z } from 'zod'

/** A pointer as in RFC 6901, such as `/data/items`. An empty one means the whole value. */
export const JsonPointer = z.string().regex(/^(?:\/(?:[^~/]|~[01])*)*$/, {
  error: 'expected a JSON pointer such as /data/items, or nothing for the whole',
})

/** The names in a pointer, as the members of objects have them. */
export function pointerNames(pointer: string): readonly string[] {
  return pointer
    .split('/')
    .slice(1)
    .map((name) => name.replaceAll('~1', '/').replaceAll('~0', '~'))
}
