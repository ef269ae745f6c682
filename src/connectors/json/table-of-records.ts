import type { ListStart } from '../discovery.ts'
import { collectHeaders, flattenRecord, type JsonObject } from './cells.ts'

/** The records of a list as a table below their paths, without those that cannot be used. `name`: the name of the list in failures. */
export function tableOfRecords(records: readonly JsonObject[], name: string): Pick<ListStart, 'headers' | 'rows'> {
  const flat = records.map(flattenRecord).filter(({ fault }) => fault === undefined)
  const headers = new Set<string>()
  for (const record of flat) collectHeaders(headers, record, name)
  return { headers: [...headers], rows: flat.map(({ cells }) => [...headers].map((path) => cells.get(path) ?? '')) }
}
