import { extname } from 'node:path'
import { z } from 'zod'

/** The ending of a file that stands beside an export. */
export const Suffix = z.string().regex(/^\.[\w.-]{0,30}\w$/, {
  error: 'expected an ending that begins with a dot, such as .done',
})

/** The names of what stands beside an export: `people.csv.done` and `people.done`. */
export function companionNames(exportName: string, suffix: string): readonly string[] {
  const stem = exportName.slice(0, exportName.length - extname(exportName).length)
  return [...new Set([exportName + suffix, stem + suffix])].filter((name) => name !== exportName)
}
