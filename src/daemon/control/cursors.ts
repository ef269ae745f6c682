import { createHash, timingSafeEqual } from 'node:crypto'
import { z } from 'zod'
import { Failure } from '../../errors.ts'

const checksumBytes = 8

/** A search that takes longer returns a cursor to continue with. */
export const maxSearchMs = 1500

/** What distinguishes one list from every other: the operation and its filters. */
type ListScope = { readonly list: string; readonly [filter: string]: unknown }

/**
 * The end of a page as a text that only the same list with the same filters accepts. It is not secret: a caller may ask for every position
 * of a list that they may read. The checksum detects texts that were cut, changed or taken from another list.
 */
export function writeCursor(scope: ListScope, position: unknown): string {
  const payload = Buffer.from(JSON.stringify(position))
  return Buffer.concat([checksumOf(scope, payload), payload]).toString('base64url')
}

/** The position in a cursor; undefined without a cursor. Refuses a text that was not issued for this list. */
export function readCursor<T>(scope: ListScope, cursor: string | undefined, schema: z.ZodType<T>): T | undefined {
  if (cursor === undefined) return undefined
  const bytes = Buffer.from(cursor, 'base64url')
  const payload = bytes.subarray(checksumBytes)
  const isOurs =
    bytes.length > checksumBytes &&
    bytes.toString('base64url') === cursor &&
    timingSafeEqual(bytes.subarray(0, checksumBytes), checksumOf(scope, payload))
  const position = isOurs ? schema.safeParse(JSON.parse(payload.toString())) : null
  if (position?.success) return position.data
  throw new Failure('usage', 'after: this value belongs to another list or to other filters; start again without it')
}

/** The cursor behind the last entry of a page; null if the page is not full, so that nothing follows. */
export function nextCursor<T>(
  scope: ListScope,
  { rows, limit }: { readonly rows: readonly T[]; readonly limit: number },
  positionOf: (last: T) => unknown,
): string | null {
  const last = rows.at(-1)
  return last === undefined || rows.length < limit ? null : writeCursor(scope, positionOf(last))
}

/** The cursor of a list in the order of a text. */
export const TextCursor = z.string()
/** The cursor of a list in the order of a number. */
export const NumberCursor = z.int()
/** The cursor of the changes of a plan in one of their orders. */
export const ChangeCursor = z.strictObject({ portion: z.int().min(0), date: z.string().nullable(), after: z.string() })
/** The cursor of a search. */
export const SearchCursor = z.strictObject({ step: z.int().min(0), after: z.string() })
/** The cursor of the list of runs, newest first. */
export const RunCursor = z.strictObject({ createdAt: z.iso.datetime(), id: z.uuid() })
/** The cursor of a list by connection and key. */
export const ProblemCursor = z.strictObject({ connection: z.string(), identityId: z.string() })
/** The cursor of the list of blocked people. */
export const BlockedPersonCursor = z.strictObject({
  connection: z.string(),
  mayLeave: z.boolean(),
  identityId: z.string().nullable(),
  fingerprint: z.string(),
})

/** A person of a connection, for lists sorted by both. */
export function problemCursor({
  connection,
  identityId,
}: z.infer<typeof ProblemCursor>): z.infer<typeof ProblemCursor> {
  return { connection, identityId }
}

function checksumOf(scope: ListScope, payload: Buffer): Buffer {
  // A missing filter and an undefined one are the same; the order of the filters has no meaning.
  const filters = Object.entries(scope)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256')
    .update(JSON.stringify(filters))
    .update('\0')
    .update(payload)
    .digest()
    .subarray(0, checksumBytes)
}
