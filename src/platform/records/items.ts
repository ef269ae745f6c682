import { randomUUID } from 'node:crypto'
import { type DataRecord, RecordKey } from '../../contract/platform/custom-data-records.ts'
import type { RefusalKind } from '../../http/refusal.ts'
import { isStorableJson } from '../core/storable-json.ts'

/** Maximum size of a record as JSON. */
export const maxRecordBytes = 1024 * 1024

type ItemError = { readonly kind: RefusalKind; readonly message: string }

/** A record of an upload and its id (a random UUID if the sender gave none), or the reason why it is refused. `data` is the record as sent. */
export type RecordItem =
  | { readonly recordId: string; readonly data: DataRecord }
  | { readonly recordId: string | undefined; readonly data: DataRecord; readonly error: ItemError }

/** Checks every record, except against its JSON Schema; the result has the order of the input. All records with a repeated id are errors, so that their order decides nothing. */
export function checkRecords(records: readonly DataRecord[]): RecordItem[] {
  const counts = new Map<unknown, number>()
  for (const { id } of records) counts.set(id, (counts.get(id) ?? 0) + 1)
  return records.map((data) => {
    const parsedId = RecordKey.optional().safeParse(data.id)
    const recordId = parsedId.data
    const message = !parsedId.success
      ? 'id must be a text of 1 to 191 characters that can be stored'
      : recordId !== undefined && counts.get(recordId) !== 1
        ? 'id occurs more than once in this request'
        : findProblem(data)
    if (message !== null) return { recordId, data, error: { kind: 'InvalidInput', message } }
    return { recordId: recordId ?? randomUUID(), data }
  })
}

function findProblem(data: DataRecord): string | null {
  if (!isStorableJson(data)) return 'the record holds text or numbers that cannot be stored, or is nested too deeply'
  return isTooLarge(data) ? `the record is larger than ${maxRecordBytes / 1024} KiB` : null
}

/** Whether a record exceeds `maxRecordBytes`. */
export function isTooLarge(data: DataRecord): boolean {
  return Buffer.byteLength(JSON.stringify(data)) > maxRecordBytes
}
