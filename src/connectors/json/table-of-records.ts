import { pluralize } from '../../identity/pluralize.ts'
import { type ListStart, maxPreviewCells, maxPreviewRows } from '../discovery.ts'
import { collectHeaders, flattenRecord, type JsonValue } from './cells.ts'

/**
 * The first records of a list as a table below their paths, without those that cannot be used. `isWhole`: whether the table holds all
 * others. `name`: the name of the list in failures.
 */
export function tableOfRecords(
  records: readonly JsonValue[],
  name: string,
): Pick<ListStart, 'headers' | 'rows' | 'isWhole' | 'notes'> {
  const first = records.slice(0, maxPreviewRows)
  const flat = first.map(flattenRecord)
  const faults = flat.flatMap(({ fault }) => (fault?.path === null ? [fault.reason] : []))
  const usable = flat.filter(({ fault }) => fault?.path !== null)
  const headers = new Set<string>()
  for (const record of usable) collectHeaders(headers, record, name)
  const shown = usable.slice(0, Math.floor(maxPreviewCells / Math.max(1, headers.size)))
  return {
    headers: [...headers],
    rows: shown.map(({ cells }) => [...headers].map((path) => cells.get(path) ?? '')),
    isWhole: first.length === records.length && shown.length === usable.length,
    notes: faults.length === 0 ? [] : [`${pluralize(faults.length, 'record')} cannot be read: ${faults[0]}.`],
  }
}
