import { z } from 'zod'
import { JsonPointer } from '../../json-pointer.ts'
import { HeaderName } from './headers.ts'

const HeaderLocation = z.strictObject({ header: HeaderName.describe('A header of the answer, such as X-Total-Count.') })

/** Where a page states how many records or pages the list has. */
const Total = z
  .union([
    JsonPointer.min(1),
    HeaderLocation,
    z.strictObject({
      pages: z.union([JsonPointer.min(1), HeaderLocation]).describe('Where the number of pages stands.'),
    }),
  ])
  .describe(
    'Where a page states the number of records of the whole list: a JSON pointer such as /metadata/total, or { header: X-Total-Count }. ' +
      'With { pages: … }, the number of pages. What was read must equal it. Without a number of records, pages by position are read twice, and so ' +
      'are several pages by next or link, because a record that is removed meanwhile moves another one out of sight.',
  )

const end = {
  more: JsonPointer.min(1).optional().describe('A JSON pointer to a boolean that states whether another page follows.'),
  total: Total.optional(),
}

const key = JsonPointer.min(1)
  .optional()
  .describe(
    'A JSON pointer into a record, to what identifies it, such as /id. A list in which it occurs twice changed while it was read. ' +
      'Default: the whole record.',
  )

const several = { ...end, key }

/** For pages of which each names the next one. */
const named = {
  ...several,
  allowSingle: z
    .boolean()
    .optional()
    .describe(
      'Allows a first page that names no next one, as the only page, although nothing else states that it is. A first page with as many ' +
        'records as were requested is refused all the same.',
    ),
  allowUneven: z
    .boolean()
    .optional()
    .describe(
      'Allows pages before the last one to have different numbers of records, or none. Without it, such a list is refused unless the ' +
        'server states a total number of records, because records may be missing.',
    ),
}

const name = z.string().min(1).max(200)

const size = {
  sizeParameter: name.optional().describe('The parameter that carries the size of a page, such as limit.'),
  size: z.int().min(1).max(100_000).optional().describe('The number of records to ask for with each page.'),
}

const position = {
  parameter: name.describe(
    'The parameter that carries the position. In the body, a name or a JSON pointer such as /params/offset.',
  ),
  in: z.enum(['query', 'body']).default('query').describe('Where parameter and sizeParameter are sent.'),
  ...size,
}

const nextPointer = JsonPointer.min(1, { error: 'expected a JSON pointer such as /next' })

/** How the pages of a list follow each other. */
export const Pages = z.discriminatedUnion('by', [
  z.strictObject({ by: z.literal('single').describe('One answer holds the whole list.'), ...several }),
  z.strictObject({
    by: z.literal('next').describe("Each page holds the next page's address."),
    next: nextPointer.describe('A JSON pointer to that address, such as /links/next.'),
    ...named,
  }),
  z.strictObject({
    by: z.literal('link').describe('The header Link of each page names the next page (RFC 8288).'),
    ...named,
  }),
  z.strictObject({
    by: z.literal('cursor').describe('Each page holds a token for the next page.'),
    next: nextPointer.describe('A JSON pointer to the token, such as /meta/cursor.'),
    ...position,
    ...named,
  }),
  z.strictObject({
    by: z.literal('offset').describe('Each request names the number of records to skip.'),
    first: z.int().min(0).default(0).describe('The position of the first record.'),
    ...position,
    ...several,
  }),
  z.strictObject({
    by: z.literal('startIndex').describe('Each request names the position of its first record, as in SCIM.'),
    first: z.int().min(0).default(1).describe('The position of the first record.'),
    ...position,
    ...several,
  }),
  z.strictObject({
    by: z.literal('page').describe('Each request names the number of a page.'),
    first: z.int().min(0).default(1).describe('The number of the first page.'),
    ...position,
    ...several,
  }),
])
export type Pages = z.infer<typeof Pages>
