import { pluralize } from '../../identity/pluralize.ts'
import { escapeText } from '../../text/escape.ts'
import type { ReadCounts, Statement } from './statements.ts'

const maxLocationCharacters = 100
const nouns = { records: 'record', pages: 'page' } as const

/** The statement in words, beside how much was read. */
export function textOf(statement: Statement, read: ReadCounts = { records: 0, pages: 0 }): string {
  const { kind } = statement
  const subject = `${statement.location.startsWith('/') ? '' : 'the header '}${escapedLocation(statement)}`
  switch (kind) {
    case 'records':
    case 'pages':
      return `${subject} counts ${pluralize(statement.count, nouns[kind])}, and ${read[kind]} ${read[kind] === 1 ? 'was' : 'were'} read`
    case 'next':
      return `${subject} names a next page`
    case 'more':
      return `${subject} says that there is more`
    case 'noMore':
      return `${subject} says that there is no more`
    case 'previous':
      return `${subject} says that a page comes before this one`
    default:
      return kind satisfies never
  }
}

/** The location in messages and in the record of a run. The name of a member may hold any character. */
export function escapedLocation({ location }: Statement): string {
  return escapeText(location).slice(0, maxLocationCharacters)
}

/** What helps if a statement is about something else. */
export function helpIfUnrelated(statement: Statement): string {
  const location = escapeText(JSON.stringify(statement.location))
  const setting =
    location.length > maxLocationCharacters ? 'name it in ignoredStatements' : `write ignoredStatements: [${location}]`
  return `if it is not about this list, ${setting}`
}
