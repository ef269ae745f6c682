import { z } from 'zod'

/** The longest text that fits the platform's short columns, in characters: one beyond the first plane counts as one. */
export const maxShortTextLength = 191

/** The longest address of a page, and the longest of longer texts. */
export const maxUrlLength = 768
/** Maximum length of long texts, in characters. */
export const maxLongTextLength = 30_000

/** A text that every part of the platform can store: databases refuse NUL, and half of a surrogate pair is no character. */
export function text(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .refine(isStorable, { error: 'must not hold NUL characters or halves of surrogate pairs' })
}

/** An address as callers may submit it. */
export const Email = z.email({ error: 'must be an e-mail address' }).max(maxShortTextLength)

/** A moment as callers may submit it: ISO 8601 with `Z` or an offset. */
export const SubmittedTimestamp = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 date and time with Z or an offset' })
  .refine(hasStorableYear, { error: 'must lie between the years 1000 and 9998' })

/** A moment as the platform answers it: ISO 8601 in UTC with milliseconds. */
export const Timestamp = z.iso.datetime({ offset: true })

/** An address as the platform answers it; one that an older rule let in must not make a whole page unreadable. */
export const ResponseEmail = z.string().meta({ format: 'email' })

/** An id that the platform assigned. */
export const Id = z.int().min(1)

const DebugInfo = z
  .object({ name: z.string(), message: z.string(), stack: z.string().optional() })
  .describe('Diagnostics; this server never sends them.')

const refusalFields = {
  statusCode: z.int().describe('Repeats the HTTP status.'),
  message: z.string().describe('What is wrong, for a person.'),
  code: z.int().describe('The kind of refusal as a stable number.'),
  debugInfo: DebugInfo.optional(),
}

/** The body of 401, 402, 403, 412, 429 and 500. */
export const ExceptionResponse = z
  .object(refusalFields)
  .meta({ id: 'ExceptionResponseDto', description: 'The caller may not do this, or the server failed.' })
export type ExceptionResponse = z.infer<typeof ExceptionResponse>

/** The body of 400, 404, 409, 413, 422 and 503. */
export const NamedExceptionResponse = z
  .object({ name: z.string().describe('The kind of refusal as a word.'), ...refusalFields })
  .meta({ id: 'ExceptionResponsePublicV2Dto', description: 'The request as such cannot be fulfilled.' })
export type NamedExceptionResponse = z.infer<typeof NamedExceptionResponse>

/** The tags of frameworks. */
export const FrameworkTag = z
  .enum([
    'CUSTOM',
    'NONE',
    'SOC_2',
    'ISO27001',
    'CCPA',
    'GDPR',
    'HIPAA',
    'PCI',
    'SCF',
    'NIST80053',
    'NISTCSF',
    'CMMC',
    'NIST800171',
    'MSSSPA',
    'FFIEC',
    'ISO27701',
    'COBIT',
    'SOX_ITGC',
    'ISO270012022',
    'CCM',
    'CYBER_ESSENTIALS',
    'ISO270172015',
    'ISO270182019',
    'FEDRAMP',
    'NISTAI',
    'PCI4',
    'NISTCSF2',
    'NIS2',
    'DORA',
    'ISO420012023',
    'DRATA_ESSENTIALS',
    'NIST800171R3',
    'CIS8',
    'CYBER_ESSENTIALS_32',
    'FEDRAMP20X',
    'HITRUST',
    'MSSSPA11',
    'ESSENTIAL_EIGHT',
    'NYDFS',
    'TISAX',
    'ISO270182025',
    'CCPA2026',
    'ISO277012025',
    'CPS230',
    'CYFUN',
    'AIUC_1',
    'ALL',
  ])
  .meta({ id: 'FrameworkTagEnum' })
export type FrameworkTag = z.infer<typeof FrameworkTag>

const SortField = z.enum(['createdAt', 'updatedAt']).meta({ id: 'SortTypeLimitedEnum' })
const SortDirection = z.enum(['ASC', 'DESC']).meta({ id: 'SortDirectionEnum' })

/** The query parameters of a list that counts nothing. */
export const uncountedListQuery = {
  cursor: z.string().optional().describe('Where to go on: the cursor of the page before. Left out for the first page.'),
  size: z.int().min(1).max(500).default(50).describe('How many entries a page holds at most.'),
  sort: SortField.optional().describe('What the list is ordered by; `createdAt` where it is left out.'),
  sortDir: SortDirection.optional().describe('The direction of the order; ascending where it is left out.'),
}

/** The query parameters that nearly every list takes. */
export const listQuery = {
  ...uncountedListQuery,
  includeTotalCount: z
    .boolean()
    .default(false)
    .describe('Whether to count all matches. Only the first page carries the count.'),
}

const cursor = z.string().nullish().describe('Asks for the next page. Absent on the last one.')

/** The cursor of the next page, and the count of all matches. */
export const Pagination = z
  .object({
    cursor,
    totalCount: z.int().min(0).nullish().describe('All matches, on the first page of a walk that asked for them.'),
  })
  .meta({ id: 'PaginationTotalCountResponsePublicV2Dto' })
export type Pagination = z.infer<typeof Pagination>

const UncountedPagination = z.object({ cursor }).meta({ id: 'PaginationResponsePublicV2Dto' })

/** The envelope of a list. */
export function page<T extends z.ZodType>(entry: T) {
  return z.object({ data: z.array(entry).describe('The page.'), pagination: Pagination })
}

/** The envelope of a list that counts nothing. */
export function uncountedPage<T extends z.ZodType>(entry: T) {
  return z.object({ data: z.array(entry).describe('The page.'), pagination: UncountedPagination })
}

/** The `expand[]` parameter of an operation. */
export function expandQuery<T extends z.ZodEnum>(expansion: T) {
  return { 'expand[]': z.array(expansion).optional().describe('What else an answer shall carry.') }
}

/** A user in the short form. */
export const UserCompact = z
  .object({
    id: Id,
    email: z.string(),
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'UserCompactResponsePublicV2Dto', description: 'A user of the platform in short.' })
export type UserCompact = z.infer<typeof UserCompact>

/** The first owners of an object, and their number. */
export const OwnersSubcollection = z
  .object({ data: z.array(UserCompact).max(10), totalCount: z.int().min(0) })
  .meta({ id: 'OwnersSubcollectionResponsePublicV2Dto', description: 'At most ten owners, and how many there are.' })

/** The value that a caller gives to a field of the account's own; one of `id` and `name` says which. */
export const CustomFieldSubmit = z
  .object({
    id: Id.optional(),
    name: text(maxShortTextLength).optional(),
    value: text(maxLongTextLength).nullable().describe('Null removes the value.'),
  })
  .meta({ id: 'CustomFieldSubmitRequestPublicV2Dto' })
export type CustomFieldSubmit = z.infer<typeof CustomFieldSubmit>

/** The value of a custom field. */
export const CustomFieldValue = z
  .object({ customFieldId: Id, name: z.string(), value: z.string().nullish() })
  .meta({ id: 'CustomFieldResponsePublicV2Dto', description: 'The value of a field that the account defined itself.' })
export type CustomFieldValue = z.infer<typeof CustomFieldValue>

function isStorable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0')
}

// Offsets can move a moment into the year before or after, so the outermost years that fit four digits are left out.
function hasStorableYear(value: string): boolean {
  const year = Number(value.slice(0, 4))
  return year >= 1000 && year <= 9998
}
