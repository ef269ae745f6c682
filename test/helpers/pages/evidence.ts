import {
  absent,
  cellsOf,
  dates,
  feeds,
  type Outcome,
  outcomes,
  type Past,
  pasts,
  present,
  rejectedRow,
  statuses,
} from '../evidence/outcomes.ts'

const introduction = `# What does a row say about somebody's employment?

Made from \`test/helpers/evidence/outcomes.ts\` by \`npx vitest run test/house.test.ts -u\`; \`test/identity/decide/evidence.test.ts\` checks the code
against every cell. [Configure](configure.md#who-has-left) has the rules.

Today is 2026-11-20, which is also the day of the export. The connection has a status with \`leftWhen: [Terminated]\` and \`employedWhen: [Active]\`,
\`statusMeans: now\`, \`future: defer\`, \`onBlank: clear\` and \`onBadCell: keepField\`. A date may be none, in the past (2026-06-30), today, tomorrow, next
year (2027-11-20) or impossible (2026-02-31). A status may say employed or left, be unlisted (Sabbatical), blank, or unreadable (wrong encoding).
If the status says employed and the date has come, the date applies. From the fourth day after it the person is listed among the
[problems](operate.md#people-who-need-attention) until HR corrects one of the two.
An unlisted status holds the plan until it is classified; the table says what follows if the plan is approved nevertheless. An
impossible date and an unreadable status are listed with the person's key and the reason, and everything else in the row applies.

An event here has the action \`change\`. \`join\` and \`leave\` need no table: the action decides. A \`join\` without a leaving date also ends one
that lies ahead.
`

/** The page docs/evidence.md. */
export function evidencePage(): string {
  return [introduction, words(), ...present.map(tableOf), rejected(), silence()].join('\n')
}

function words(): string {
  const rows = Object.entries(outcomes).map(([name, meaning]) => [name, `The person ${meaning}.`])
  const known = Object.entries(pasts).map(([name, meaning]) => [name, meaning])
  return ['## Words\n', table(['Outcome', 'Means'], rows), table(['Known before', 'Means'], known)].join('\n')
}

function tableOf(one: (typeof present)[number]): string {
  const title = `## ${capital(listed(one.feeds.map((feed) => `a ${feed}`)))}: ${listed(one.pasts)}\n`
  const rows = cellsOf(one).map(([date, cells]) => [date, ...cells.map(([, outcome]) => outcome)])
  return [title, table(['Leaving date', ...Object.keys(statuses)], rows)].join('\n')
}

function rejected(): string {
  const rows = Object.entries(rejectedRow).map(([past, outcome]) => [past, outcome])
  const about = `The row of the person is rejected whole, as with \`onBadCell: rejectRow\`, whatever its date (${Object.keys(dates).length} of them) and status say.\n`
  const repeated =
    'The same follows if the key stands in the export several times, unless all of its rows say that the person has left. Then an employed\n' +
    'person has left on the earliest date of these rows that has come, or on the day of the export if none has.\n'
  return ['## A rejected row\n', about, table(['Known before', 'Outcome'], rows), repeated].join('\n')
}

function silence(): string {
  const when = ['once', 'beyond grace', 'elsewhere'] as const
  const rows = (Object.keys(pasts) as Past[]).map((past): [string, ...Outcome[]] => [
    past,
    ...when.map((moment) => absent[past][moment]),
  ])
  const others = feeds.filter((feed) => feed !== 'snapshot').map((feed) => `a ${feed}`)
  const headers = ['Known before', 'absent once', 'absent beyond grace', `not named in ${listed(others)}`]
  return ['## No row names the person\n', 'With `graceRuns: 2`.\n', table(headers, rows)].join('\n')
}

function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(headers), `|${headers.map(() => '---|').join('')}`, ...rows.map(line), ''].join('\n')
}

function listed(names: readonly string[]): string {
  return new Intl.ListFormat('en').format(names).replaceAll('a event', 'an event')
}

function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1)
}
