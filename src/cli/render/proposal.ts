import type { PermissionResult } from '../../daemon/probe/key-permissions.ts'
import type { Proposal, ValueCount } from '../../daemon/proposal/proposal.ts'
import { aligned, counted, type Paint, short, shown } from './text.ts'

const maxExampleLength = 24

/** How an export would be read: form, preset, fields with examples, values and dates, and what stays in the file. */
export function renderProposal(proposal: Proposal, paint: Paint): string {
  const { table, fields, unreadColumns, dates, statuses, contractors, timeZone, notes } = proposal
  const rows = fields.map(({ field, column, examples, why }) => [
    field,
    `${shown(column)}${why === null ? '' : ` (${shown(why)})`}`,
    examples.map((example) => short(example, maxExampleLength)).join(', '),
  ])
  return [
    `${paint('bold', shown(table.name))}: ${formText(table)}`,
    `${paint('bold', shown(proposal.preset))} (${shown(proposal.title)}): ${shown(proposal.why)}`,
    '',
    ...aligned(
      [['FIELD', 'COLUMN', ...(rows.some(([, , examples]) => examples) ? ['EXAMPLES'] : [])], ...rows],
      (cell, row) => (row === 0 ? paint('bold', cell) : cell),
    ).map((line) => `  ${line}`),
    `  ${paint('dim', 'stays in the file')}  ${unreadColumns.map(shown).join(', ') || 'nothing'}`,
    '',
    ...dates.map(({ column, format, why }) => `  dates in ${shown(column)}: ${shown(format)} (${shown(why)})`),
    ...(statuses === null
      ? []
      : valueLines(statuses.column, [
          ['left', statuses.left],
          ['employed', statuses.employed],
          ['not known, and a run is held until a person says it with --left or --employed', statuses.open],
        ])),
    ...(contractors === null
      ? []
      : valueLines(contractors.column, [
          ['contractor', contractors.contractor],
          ['employee', contractors.employee],
          ['not known', contractors.open],
        ])),
    ...(timeZone === null ? [] : [`  time zone: ${shown(timeZone.name)}, from ${shown(timeZone.column)}`]),
    ...notes.map((note) => `  ${paint('yellow', '!')} ${shown(note)}`),
  ].join('\n')
}

/** What a key may do, a line for each purpose. */
export function renderPermissions(tried: readonly PermissionResult[], paint: Paint): string {
  const lines = tried.map(({ permissions, purpose, isGranted, isVital }) => {
    const mark = isGranted === true ? paint('green', '✔') : isVital ? paint('red', '✖') : paint('yellow', '!')
    const found = isGranted === true ? '' : isGranted === null ? ' could not be tried' : ' is missing'
    return [mark, `${permissions.map(shown).join(' or ')}${found}`, shown(purpose)]
  })
  return aligned(lines, (cell) => cell)
    .map((line) => `  ${line}`)
    .join('\n')
}

function formText(table: Proposal['table']): string {
  const { encoding, delimiter, headerLine, linesAfterHeader, headers, rows, isWhole } = table
  const above = headerLine === 1 ? '' : `, header in line ${headerLine}`
  const below = linesAfterHeader === 0 ? '' : `, ${counted(linesAfterHeader, 'further header line')}`
  return `${counted(headers.length, 'column')} split by "${shown(delimiter)}", ${shown(encoding)}${above}${below}; ${isWhole ? `${counted(rows.length, 'row')} looked at` : `only the first ${counted(rows.length, 'row')} looked at`}`
}

function valueLines(column: string, groups: readonly (readonly [string, readonly ValueCount[]])[]): string[] {
  return groups.flatMap(([meaning, values]) =>
    values.length === 0
      ? []
      : [
          `  ${shown(column)} means ${meaning}: ${values.map(({ value, rows }) => `${shown(value)} (${rows})`).join(', ')}`,
        ],
  )
}
