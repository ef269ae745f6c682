import { escapeText } from '../../../text/escape.ts'
import type { ListSettings } from './list-settings.ts'
import type { Statement } from './list-statements.ts'

const maxLocationCharacters = 100

type ReadCounts = { readonly records: number; readonly pages: number }

/** The statement in words, beside how much was read. */
export function textOf(statement: Statement, read: ReadCounts = { records: 0, pages: 0 }): string {
  const { kind } = statement
  const subject = `${statement.location.startsWith('/') ? '' : 'the header '}${escapedLocation(statement)}`
  switch (kind) {
    case 'records':
    case 'pages':
      return `${subject} counts ${statement.count} ${kind}, and ${read[kind]} ${read[kind] === 1 ? 'was' : 'were'} read`
    case 'next':
      return `${subject} names a next page`
    case 'more':
      return `${subject} says that there is more`
    case 'noMore':
      return `${subject} says that there is no more`
    default:
      return kind satisfies never
  }
}

/** The location in messages and in the record of a run. The name of a member may hold any character. */
function escapedLocation({ location }: Statement): string {
  return escapeText(location).slice(0, maxLocationCharacters)
}

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

/** What helps if a statement is about something else. */
export function helpIfUnrelated(statement: Statement): string {
  return `if it is not about this list, write ignoredStatements: ["${escapedLocation(statement)}"]`
}
