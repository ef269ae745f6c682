import { type RawBuilder, sql } from 'kysely'

/** The condition that a column begins with a text, whatever its case. */
export function beginsWith(column: string, text: string): RawBuilder<boolean> {
  return sql`starts_with(fold_case(${sql.ref(column)}), fold_case(${text}))`
}

/** The condition that a column holds a text anywhere, whatever its case. */
export function contains(column: string, text: string): RawBuilder<boolean> {
  return sql`position(fold_case(${text}) in fold_case(${sql.ref(column)})) > 0`
}
