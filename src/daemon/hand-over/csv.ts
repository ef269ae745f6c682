import type { HandOver } from '../../contract/control/hand-over.ts'
import { csv } from '../../web/csv.ts'
import { columnsOf, entriesOf } from './columns.ts'

/** The list as CSV. It begins with a byte order mark: without it, Excel takes UTF-8 for another encoding. */
export function handOverCsv(list: HandOver): string {
  const columns = columnsOf(list)
  return `\ufeff${csv(
    columns.map(({ name }) => name),
    entriesOf(list).map((entry) => columns.map(({ of }) => of(entry))),
  )}`
}
