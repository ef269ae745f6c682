import { escapedLocation, helpIfUnrelated } from '../../json/statement-text.ts'
import type { Statement } from '../../json/statements.ts'
import type { ListSettings } from './list-settings.ts'

/** What helps if a last page makes this statement. */
export function helpFor(statement: Statement, settings: ListSettings): string {
  return `${helpForMore(statement, settings)}; ${helpIfUnrelated(statement)}`
}

function helpForMore(statement: Statement, { next, pages }: ListSettings): string {
  if (next !== undefined) return 'check next, or run it again if the list changed meanwhile'
  if (typeof pages === 'object') return 'check the settings below pages, or run it again if the list changed meanwhile'
  if (statement.kind === 'next' && statement.location.startsWith('/'))
    return `set next: ${escapedLocation(statement)}, and nextParameter if it holds a token; or ask for all records at once`
  return 'ask for all records at once in url (with limit, for example), or say with next where the next page is named'
}
