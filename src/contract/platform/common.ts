import { z } from 'zod'

/** Maximum length of short texts, in characters; a surrogate pair counts as one. */
export const maxShortTextLength = 191

/** Maximum length of URLs, in characters. */
export const maxUrlLength = 768
/** Maximum length of long texts, in characters. */
export const maxLongTextLength = 30_000

/** A text that PostgreSQL can store: without NUL characters and halves of surrogate pairs. */
export function text(maxLength: number) {
  return z
    .string()
    .max(maxLength)
    .refine(isStorable, { error: 'must not hold NUL characters or halves of surrogate pairs' })
}

/** An e-mail address in a request. */
export const Email = z.email({ error: 'must be an e-mail address' }).max(maxShortTextLength)

/** A time in a request: ISO 8601 with `Z` or an offset. */
export const SubmittedTimestamp = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 date and time with Z or an offset' })
  .refine(hasStorableYear, { error: 'must lie between the years 1000 and 9998' })

/** A day in a request, as a date or a time. */
export const SubmittedDay = z
  .string()
  .refine(
    (day) => SubmittedTimestamp.safeParse(z.iso.date().safeParse(day).success ? `${day}T00:00:00Z` : day).success,
    {
      error: 'must be a date such as 2026-01-31, or a time with Z or an offset, between the years 1000 and 9998',
    },
  )

/** A time in a response: ISO 8601 in UTC with milliseconds. */
export const Timestamp = z.iso.datetime({ offset: true })

/** An e-mail address in a response. Any text, so that an address from before a rule does not make a page unreadable. */
export const ResponseEmail = z.string().meta({ format: 'email' })

/** An id that the platform assigned. */
export const Id = z.int().min(1)

const DebugInfo = z
  .object({ name: z.string(), message: z.string(), stack: z.string().optional() })
  .describe('Diagnostics; this server never sends them.')

const refusalFields = {
  statusCode: z.int().describe('Repeats the HTTP status.'),
  message: z.string().describe('The problem, for people.'),
  code: z.int().describe('A stable number for the kind of error.'),
  debugInfo: DebugInfo.optional(),
}

/** The body of 401, 402, 403, 412, 429 and 500. */
export const ExceptionResponse = z
  .object(refusalFields)
  .meta({ id: 'ExceptionResponseDto', description: 'The caller is not allowed to do this, or the server failed.' })
export type ExceptionResponse = z.infer<typeof ExceptionResponse>

/** The body of 400, 404, 409, 413, 422 and 503. */
export const NamedExceptionResponse = z
  .object({ name: z.string().describe('A name for the kind of error.'), ...refusalFields })
  .meta({ id: 'ExceptionResponsePublicV2Dto', description: 'The request cannot be fulfilled.' })
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

/** The query parameters of a list without a total count. */
export const uncountedListQuery = {
  cursor: z.string().optional().describe('The cursor of the previous page. Left out for the first page.'),
  size: z.int().min(1).max(500).default(50).describe('Maximum number of entries of a page.'),
  sort: SortField.optional().describe('The order of the list; by default `createdAt`.'),
  sortDir: SortDirection.optional().describe('The direction of the order; by default ascending.'),
}

/** The query parameters of most lists. */
export const listQuery = {
  ...uncountedListQuery,
  includeTotalCount: z
    .boolean()
    .default(false)
    .describe('Whether to count all matches. Only the first page carries the count.'),
}

const cursor = z.string().nullish().describe('The cursor of the next page. Absent on the last page.')

/** The cursor of the next page, and the count of all matches. */
export const Pagination = z
  .object({
    cursor,
    totalCount: z.int().min(0).nullish().describe('The number of all matches, on the first page if it was requested.'),
  })
  .meta({ id: 'PaginationTotalCountResponsePublicV2Dto' })
export type Pagination = z.infer<typeof Pagination>

const UncountedPagination = z.object({ cursor }).meta({ id: 'PaginationResponsePublicV2Dto' })

/** The response of a list. */
export function page<T extends z.ZodType>(entry: T) {
  return z.object({ data: z.array(entry).describe('The page.'), pagination: Pagination })
}

/** The response of a list without a total count. */
export function uncountedPage<T extends z.ZodType>(entry: T) {
  return z.object({ data: z.array(entry).describe('The page.'), pagination: UncountedPagination })
}

/** The `expand[]` parameter of an operation. */
export function expandQuery<T extends z.ZodEnum>(expansion: T) {
  return { 'expand[]': z.array(expansion).optional().describe('What the response includes in addition.') }
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
  .meta({ id: 'UserCompactResponsePublicV2Dto', description: 'A user in the short form.' })
export type UserCompact = z.infer<typeof UserCompact>

/** The first owners of an object, and their number. */
export const OwnersSubcollection = z
  .object({ data: z.array(UserCompact).max(10), totalCount: z.int().min(0) })
  .meta({ id: 'OwnersSubcollectionResponsePublicV2Dto', description: 'At most ten owners, and how many there are.' })

/** The value of a custom field in a request; `id` or `name` identifies the field. */
export const CustomFieldSubmit = z
  .object({
    id: Id.optional(),
    name: text(maxShortTextLength).optional(),
    value: text(maxLongTextLength).nullable().describe('Null removes the value.'),
  })
  .refine(({ id, name }) => id !== undefined || name !== undefined, { error: 'needs an id or a name' })
  .meta({ id: 'CustomFieldSubmitRequestPublicV2Dto' })
export type CustomFieldSubmit = z.infer<typeof CustomFieldSubmit>

/** The value of a custom field. */
export const CustomFieldValue = z
  .object({ customFieldId: Id, name: z.string(), value: z.string().nullish() })
  .meta({ id: 'CustomFieldResponsePublicV2Dto', description: 'The value of a custom field.' })
export type CustomFieldValue = z.infer<typeof CustomFieldValue>

function isStorable(value: string): boolean {
  return value.isWellFormed() && !value.includes('\0')
}

// An offset can move a time into the previous or the next year, so the first and last years with four digits are left out.
function hasStorableYear(value: string): boolean {
  const year = Number(value.slice(0, 4))
  return year >= 1000 && year <= 9998
}
