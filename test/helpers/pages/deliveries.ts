import {
  type DeliveryAction,
  type DeliveryFailure,
  deliveryFailures,
  platformIsFailing,
  sharedConsequences,
} from '../../../src/contract/failures.ts'

const title = '## Every answer and what follows\n'

const note = `\`npx vitest run test/house.test.ts -u\` generates this part from the table that the code follows, which \`GET /failures\` of the
[control API](api.md) returns.
`

/** The order of the page: what concerns single people, then what concerns a batch, then what concerns everybody. */
const headings: Readonly<Record<DeliveryAction, string>> = {
  problem: 'The person becomes a problem',
  correct: 'The leaving date is corrected',
  upsert: 'The whole record is sent',
  split: 'The batch is halved',
  read_back: 'The people are looked up',
  retry: 'It is tried again',
  wait: 'Nothing is sent for a while',
  block: 'The connection is blocked',
}

/** The page docs/deliveries.md: the written part at its top, and the table of delivery failures below. */
export function deliveriesPage(page: string): string {
  const [top = ''] = page.split(title, 1)
  const sections = Object.entries(headings).map(([action, heading]) => {
    const failures = Object.entries<DeliveryFailure>(deliveryFailures).filter(
      ([, failure]) => failure.action === action,
    )
    return [`### ${heading}\n`, ...sectionOf(failures), ''].join('\n')
  })
  return [`${top}${title}`, note, ...sections].join('\n')
}

/** The table of an action. What follows of all its failures stands above it, as do the consequences that several share. */
function sectionOf(failures: readonly (readonly [code: string, failure: DeliveryFailure])[]): string[] {
  const consequences = new Set(failures.map(([, { follows }]) => follows))
  const [only = ''] = consequences
  const isCommon = failures.length > 1 && consequences.size === 1
  const shared = Object.entries(sharedConsequences).filter(([, text]) => [...consequences].join().includes(text))
  const areFailing = failures.filter(([, { helps }]) => helps === platformIsFailing).length > 1
  const columns = ['Code', 'When', ...(isCommon ? [] : ['What follows']), 'What helps']
  const rows = failures.map(([code, { when, follows, helps }]) => [
    `\`${code}\``,
    when,
    ...(isCommon ? [] : [shared.reduce((text, [name, common]) => text.replace(common, `*${name}*.`), follows)]),
    areFailing && helps === platformIsFailing ? '*status*' : (helps ?? ''),
  ])
  const above = [
    ...(isCommon ? [only] : []),
    ...shared.map(([name, text]) => `- *${name}*: ${text}`),
    ...(areFailing ? [`- *status*: ${platformIsFailing}`] : []),
  ]
  return [
    ...above,
    ...(above.length > 0 ? [''] : []),
    line(columns),
    `|${columns.map(() => '---|').join('')}`,
    ...rows.map(line),
  ]
}

function line(cells: readonly string[]): string {
  return `| ${cells.map((text) => text.replaceAll('|', '\\|').replaceAll('<', '&lt;')).join(' | ')} |`
}
