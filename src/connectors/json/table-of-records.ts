import { pluralize } from '../../identity/pluralize.ts'
import { type ListStart, maxPreviewCells, maxPreviewRows } from '../discovery.ts'
import { collectHeaders, type FlatRecord, flattenRecord, type JsonValue } from './cells.ts'

/**
 * The first records of a list as a table below their paths, without those that cannot be used. `isWhole`: whether the table holds all
 * others. `name`: the name of the list in failures.
 */
export function tableOfRecords(
  records: readonly JsonValue[],
  name: string,
): Pick<ListStart, 'headers' | 'rows' | 'isWhole' | 'notes'> {
  const headers = new Set<string>()
  const usable: FlatRecord[] = []
  const faults: string[] = []
  let read = 0
  let cells = 0
  for (const record of records.slice(0, maxPreviewRows)) {
    if (cells > maxPreviewCells) break
    const flat = flattenRecord(record)
    read += 1
    cells += flat.cells.size
    if (flat.fault?.path === null) faults.push(flat.fault.reason)
    else usable.push(flat)
    collectHeaders(headers, flat, name)
  }
  const paths = [...headers]
  const shown = usable.slice(0, Math.floor(maxPreviewCells / Math.max(1, paths.length)))
  return {
    headers: paths,
    // A preview shows no cell that a run cannot use.
    rows: shown.map((record) =>
      paths.map((path) => (path === record.fault?.path ? '' : (record.cells.get(path) ?? ''))),
    ),
    isWhole: read === records.length && shown.length === usable.length,
    notes: faults.length === 0 ? [] : [`${pluralize(faults.length, 'record')} cannot be read: ${faults[0]}.`],
  }
}
