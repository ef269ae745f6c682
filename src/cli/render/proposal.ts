import type { PermissionResult } from '../../daemon/probe/key-permissions.ts'
import type { Proposal, ValueCount } from '../../daemon/proposal/proposal.ts'
import { alignColumns, escapeText, type Paint, pluralize, shorten } from './text.ts'

const maxExampleLength = 24

/** How an export would be read: form, preset, fields with examples, values and dates, and what stays in the file. */
export function renderProposal(proposal: Proposal, paint: Paint): string {
  const { table, fields, unreadColumns, dates, statuses, contractors, timeZone, notes } = proposal
  const rows = fields.map(({ field, column, examples, why }) => [
    field,
    `${escapeText(column)}${why === null ? '' : ` (${escapeText(why)})`}`,
    examples.map((example) => shorten(example, maxExampleLength)).join(', '),
  ])
  return [
    `${paint('bold', escapeText(table.name))}: ${formText(table)}`,
    `${paint('bold', escapeText(proposal.preset))} (${escapeText(proposal.title)}): ${escapeText(proposal.why)}`,
    '',
    ...alignColumns(
      [['FIELD', 'COLUMN', ...(rows.some(([, , examples]) => examples) ? ['EXAMPLES'] : [])], ...rows],
      (cell, row) => (row === 0 ? paint('bold', cell) : cell),
    ).map((line) => `  ${line}`),
    `  ${paint('dim', 'not read')}  ${unreadColumns.map(escapeText).join(', ') || 'nothing'}`,
    '',
    ...dates.map(
      ({ column, format, why }) => `  dates in ${escapeText(column)}: ${escapeText(format)} (${escapeText(why)})`,
    ),
    ...(statuses === null
      ? []
      : valueLines(statuses.column, [
          ['left', statuses.left],
          ['employed', statuses.employed],
          ['unknown (a run is held until you use --left or --employed)', statuses.open],
        ])),
    ...(contractors === null
      ? []
      : valueLines(contractors.column, [
          ['contractor', contractors.contractor],
          ['employee', contractors.employee],
          ['unknown', contractors.open],
        ])),
    ...(timeZone === null ? [] : [`  time zone: ${escapeText(timeZone.name)}, from ${escapeText(timeZone.column)}`]),
    ...notes.map((note) => `  ${paint('yellow', '!')} ${escapeText(note)}`),
  ].join('\n')
}

/** The permissions of a key, a line for each purpose. */
export function renderPermissions(tried: readonly PermissionResult[], paint: Paint): string {
  const lines = tried.map(({ permissions, purpose, isGranted, isVital }) => {
    const mark = isGranted === true ? paint('green', '✔') : isVital ? paint('red', '✖') : paint('yellow', '!')
    const result = isGranted === true ? '' : isGranted === null ? ' could not be tested' : ' is missing'
    return [mark, `${permissions.map(escapeText).join(' or ')}${result}`, escapeText(purpose)]
  })
  return alignColumns(lines, (cell) => cell)
    .map((line) => `  ${line}`)
    .join('\n')
}

function formText(table: Proposal['table']): string {
  const { encoding, delimiter, headerLine, linesAfterHeader, headers, rows, isWhole, isList, workbook } = table
  const checked = isWhole
    ? `${pluralize(rows.length, 'row')} checked`
    : `only the first ${pluralize(rows.length, 'row')} checked`
  if (isList) return `a JSON list with ${pluralize(headers.length, 'column')}; ${checked}`
  const above = headerLine === 1 ? '' : `, header in ${workbook ? 'row' : 'line'} ${headerLine}`
  const below = linesAfterHeader === 0 ? '' : `, ${pluralize(linesAfterHeader, 'further header line')}`
  if (workbook) {
    const sheet = workbook.sheet === null ? 'a workbook' : `the sheet "${escapeText(workbook.sheet)}"`
    return `${sheet} with ${pluralize(headers.length, 'column')}${above}${below}; ${checked}`
  }
  return `${pluralize(headers.length, 'column')} split by "${escapeText(delimiter)}", ${escapeText(encoding)}${above}${below}; ${checked}`
}

function valueLines(column: string, groups: readonly (readonly [string, readonly ValueCount[]])[]): string[] {
  return groups.flatMap(([meaning, values]) =>
    values.length === 0
      ? []
      : [
          `  ${escapeText(column)} means ${meaning}: ${values.map(({ value, rows }) => `${escapeText(value)} (${rows})`).join(', ')}`,
        ],
  )
}
