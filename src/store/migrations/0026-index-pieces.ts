import type { Migration } from '../../database/database.ts'

export const indexPieces: Migration = {
  name: '0026-index-pieces',
  sql: `
-- A piece of a part fills a page. Elsewhere it would be cut again, and each cut have an entry of an index.
alter table export_index_parts set (toast_tuple_target = 8160);
`,
}
