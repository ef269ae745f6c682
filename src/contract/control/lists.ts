import { z } from 'zod'

/** How many entries a page holds at most. */
export const Limit = z.int().min(1).max(1000)
/** The cursor of a list's next page. */
export const After = z.string().max(4096).optional().describe('The `next` of the page before. Another text is refused.')

/** A page of a list. */
export function page<T extends z.ZodType, N extends z.ZodType>(item: T, after: N) {
  return z.object({ data: z.array(item), next: after.nullable().describe('Give it as `after` for what follows.') })
}

/** A search text. */
export const Search = z.string().trim().min(1).max(320)
