import { platformParts, rowParts, type Statement, statedParts } from '../../contract/control/statements.ts'
import type { StatementComparison } from '../../daemon/verify-statement.ts'
import { alignColumns, escapeText, formatInstant, number, type Paint } from './text.ts'

/** A population statement: what HR stated, what the platform has, and whether both are accounted for. Parts without people are left out. */
export function renderStatement(statement: Statement, paint: Paint): string {
  const { connection, madeAt, rows, stated, platform, addsUp, differences, unaccounted, unstatedRunId } = statement
  const source = statement.export
  const [name, end] = [source?.name ?? '', source?.end ?? 'it was read to its end'].map(escapeText)
  const keys = unaccounted.map(escapeText).join(', ')
  return [
    paint('bold', `Population of ${escapeText(connection)} at ${formatInstant(madeAt)}`),
    ...(source === null ? ['no export was accepted yet'] : [`${name} as of ${formatInstant(source.asOf)}; ${end}`]),
    ...table('people stated by HR', stated.exported + stated.further, partsOf(statedParts, stated.parts), paint),
    ...table('records on the platform', platform.records, partsOf(platformParts, platform.parts), paint),
    ...(rows === null ? [] : table('rows of the export', rows.delivered, partsOf(rowParts, rows.parts), paint)),
    '',
    ...(unstatedRunId === undefined
      ? []
      : [
          paint(
            'red',
            `No statement could be made after the later run ${escapeText(unstatedRunId)}. This one is older:`,
          ),
        ]),
    ...(addsUp
      ? [
          unstatedRunId === undefined
            ? paint('green', 'Everybody is accounted for.')
            : `Everybody was accounted for at ${formatInstant(madeAt)}.`,
        ]
      : [
          paint('red', 'The statement does not add up:'),
          ...differences.map((difference) => `  ${escapeText(difference)}`),
          ...(keys === '' ? [] : [`  ${keys}`]),
        ]),
  ].join('\n')
}

type Part = readonly [text: string, count: number]

function partsOf<T extends string>(texts: Readonly<Record<T, string>>, counts: Readonly<Record<T, number>>): Part[] {
  return (Object.entries(texts) as [T, string][]).map(([name, text]) => [text, counts[name]] as const)
}

function table(title: string, total: number, parts: readonly Part[], paint: Paint): string[] {
  const lines = parts.filter(([, count]) => count > 0).map(([text, count]) => [`  ${text}`, number(count)])
  return [
    '',
    ...alignColumns([[title, number(total)], ...lines], (cell, row) => (row === 0 ? paint('bold', cell) : cell)),
  ]
}

/** Whether a statement is what the export says, and what differs. */
export function renderComparison(comparison: StatementComparison, paint: Paint): string {
  const { connection, matches, faults, file, rows, keys, onlyInExport, onlyInStatement, differing } = comparison
  const list = (title: string, all: readonly string[]) =>
    all.length === 0 ? [] : [`  ${title}: ${all.map(escapeText).join(', ')}`]
  const different = (title: string, { inStatement, inExport }: StatementComparison['rows' | 'file']) =>
    inStatement === null || inStatement === inExport
      ? []
      : [
          `  ${title}: ${escapeText(String(inStatement))} in the statement, ${escapeText(String(inExport))} in the export`,
        ]
  if (matches) {
    const count = rows.inStatement === null ? 'it has no number of rows' : `${number(rows.inExport)} rows`
    const sum = file.inStatement === null ? 'no SHA-256 of the file' : `SHA-256 ${escapeText(file.inExport)}`
    return paint('green', `The statement of ${escapeText(connection)} is what the export says: ${count}, ${sum}.`)
  }
  return [
    paint('red', `The statement of ${escapeText(connection)} is not what the export says:`),
    ...list('the pack', faults),
    ...different('SHA-256 of the file', file),
    ...different('rows', rows),
    ...different('SHA-256 of the keys', keys),
    ...list('only in the export', onlyInExport),
    ...list('only in the statement', onlyInStatement),
    ...list('employed in one and left in the other', differing),
  ].join('\n')
}
