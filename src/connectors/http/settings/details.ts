import { z } from 'zod'
import { secretReference } from '../../file/source-settings.ts'
import { memberAt, withMember } from '../../json/members.ts'
import { JsonPointer } from '../../json-pointer.ts'
import { Pages } from './pages.ts'

const HttpAddress = z.url({ protocol: /^https?$/, error: 'expected an address that begins with https://' })

/** A column of a record: names joined by dots, such as employment.id. */
const ColumnPath = z.string().min(1).max(256)

const request = {
  method: z.enum(['GET', 'POST']).default('GET').describe('The method of the request.'),
  body: z
    .record(z.string(), z.json())
    .optional()
    .describe(`The JSON that is sent with method POST. A text that is a secret is written as ${secretReference}.`),
}

const as = z
  .string()
  .regex(/^[^.]{1,100}$/, { error: 'expected a name without a dot' })
  .describe('The name below which the fields of the detail become columns, such as employment.startDate.')

/** Which of several details of one record is used. */
const Take = z
  .string()
  .regex(/^(only|all|(first|latest|earliest|current)( by \S+)?)$/, {
    error: 'expected only, all, first, or latest by COLUMN, earliest by COLUMN or current by COLUMN',
  })
  .refine((text) => !/^(latest|earliest|current)$/.test(text), {
    error: 'latest, earliest and current need by and a column',
  })
  .refine((text) => !/^first by/.test(text), { error: 'first needs no column' })
  .default('only')
  .describe(
    'Which detail is used if a record has several. only: several are refused. all: each gets a number, as in employment.0.startDate. ' +
      'first: the first of the list. latest by COLUMN and earliest by COLUMN compare a column of the details, such as effectiveDate; current by COLUMN takes the latest that has begun. ' +
      'It holds dates or times in ISO 8601; one that is blank, written otherwise, or equal is refused, as with only.',
  )

/** {COLUMN} in an address or a text, which stands for that column of a record. */
export const columnPlaceholder = /\{([^{}"\s]+)\}/g

/** A further list of the same system, whose records are added to those of the first list. */
export const Join = z.strictObject({
  url: HttpAddress.describe('The URL of the further list, on the host of url.'),
  ...request,
  records: JsonPointer.default('').describe('A JSON pointer to its records in each page.'),
  pages: z
    .union([z.enum(['single']), Pages])
    .optional()
    .describe('How its pages follow each other: the same settings as pages of the source.'),
  on: JsonPointer.min(1).describe(
    'A JSON pointer, in a record of this list, to the key of a record of the first list. Keys are compared as they are written.',
  ),
  with: ColumnPath.describe(
    'The column of the first list that holds that key, such as employeeId. It may be one of an earlier detail, such as job.gradeId.',
  ),
  as,
  take: Take,
})
export type Join = z.infer<typeof Join>

/** How one request asks for the details of several records. */
const Batch = z
  .strictObject({
    size: z.int().min(1).max(1000).describe('The number of records in a request.'),
    list: JsonPointer.min(1).describe(
      'A JSON pointer into body, to a list of one entry, which is repeated for each record.',
    ),
    answers: JsonPointer.default('').describe(
      'A JSON pointer to the list of answers. ok and records then point into each of them.',
    ),
    on: JsonPointer.min(1).describe('A JSON pointer in an answer, to the key of its record.'),
    with: ColumnPath.describe('The column that holds that key.'),
  })
  .optional()
  .describe('Asks about several records with one request, which must answer each of them exactly once.')

/** A request for each record of the list. */
export const Each = z
  .strictObject({
    url: z
      .string()
      .regex(/^https?:\/\/\S+$/, { error: 'expected an address that begins with https://' })
      .describe(
        'The URL, on the host of url. {COLUMN} is replaced by that column of the record, such as {id} or {job.gradeId}, here and in ' +
          'the texts of body. Without a value in it, the detail is missing.',
      ),
    ...request,
    batch: Batch,
    ok: z
      .strictObject({
        at: JsonPointer.min(1).describe('A JSON pointer into the answer, such as /responses/0/code.'),
        is: z.string().min(1).describe("The text or number that stands there, such as '200'."),
      })
      .optional()
      .describe(
        'What an answer with status 200 must state besides, where a system reports errors in it. A detail whose answer states anything ' +
          'else could not be read.',
      ),
    records: JsonPointer.default('').describe(
      'A JSON pointer to the detail in the answer: an object, or a list of objects. null, an empty list and the statuses 204, 404 and ' +
        '410 mean that there is none.',
    ),
    as,
    take: Take,
  })
  .superRefine((each, context) => {
    const message = each.batch ? batchProblem(each, each.batch.list) : columnProblem(each)
    if (message !== null) context.addIssue({ code: 'custom', path: [each.batch ? 'batch' : 'url'], message })
  })
export type Each = z.infer<typeof Each>

type EachRequest = { readonly url: string; readonly body?: Readonly<Record<string, z.core.util.JSONType>> }

function columnProblem({ url, body = {} }: EachRequest): string | null {
  return namesColumn(url) || namesColumn(body) ? null : 'names no column of the record, such as {id}'
}

function batchProblem({ url, body = {} }: EachRequest, list: string): string | null {
  const entries = memberAt(body, list)
  if (!Array.isArray(entries) || entries.length !== 1) return `body has no list of one entry at ${list}`
  if (!namesColumn(entries)) return `the entry of body at ${list} names no column of the record, such as {id}`
  const isElsewhere = namesColumn(url) || namesColumn(withMember(body, list, []))
  return isElsewhere ? `only the entry of body at ${list} may name columns` : null
}

function namesColumn(template: z.core.util.JSONType): boolean {
  return JSON.stringify(template).search(columnPlaceholder) >= 0
}
