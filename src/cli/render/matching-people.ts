import type { PersonSearchResult } from '../../contract/control/people.ts'
import { alignColumns, escapeText, type Paint, roomIn } from './text.ts'

/** The people that a name may mean, with what distinguishes them. */
export function renderMatches(people: readonly PersonSearchResult[], paint: Paint): string {
  const rows = people.map(({ identityId, connection, state, person }) => {
    const text = (name: string) => (typeof person[name] === 'string' ? escapeText(person[name]) : '')
    return [
      escapeText(identityId),
      connection,
      state,
      `${text('firstName')} ${text('lastName')}`.trim(),
      text('jobTitle'),
      text('email'),
    ]
  })
  return alignColumns(rows, (cell, _row, column) => (column === 0 ? paint('bold', cell) : cell), roomIn(paint, 2))
    .map((line) => `  ${line}`)
    .join('\n')
}
