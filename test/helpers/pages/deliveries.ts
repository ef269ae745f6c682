import { type DeliveryAction, type DeliveryFailure, deliveryFailures } from '../../../src/contract/failures.ts'

const title = '## Every answer and what follows\n'

const note = `\`npx vitest run test/house.test.ts -u\` generates this part from the table that the code follows, and a test compares the two. \`GET /failures\` of
the [control API](api.md) returns the same table.
`

/** The order of the page: what concerns single people, then what concerns a batch, then what concerns everybody. */
const headings: Readonly<Record<DeliveryAction, string>> = {
  problem: 'The person becomes a problem',
  correct: 'The leaving date is corrected',
  upsert: 'The whole record is sent',
  split: 'The batch is halved',
  read_back: 'The people are read back',
  retry: 'It is tried again',
  wait: 'Nothing is sent for a while',
  block: 'The connection is blocked',
}

/** The page docs/deliveries.md: the written part at its top, and the table of delivery failures below. */
export function deliveriesPage(page: string): string {
  const [top = ''] = page.split(title, 1)
  const failures = Object.entries<DeliveryFailure>(deliveryFailures)
  const sections = Object.entries(headings).map(([action, heading]) => {
    const rows = failures
      .filter(([, failure]) => failure.action === action)
      .map(
        ([code, { when, follows, helps }]) =>
          `| \`${code}\` | ${cell(when)} | ${cell(follows)} | ${cell(helps ?? '')} |`,
      )
    const table = ['| Code | When | What follows | What helps |', '|---|---|---|---|', ...rows].join('\n')
    return `### ${heading}\n\n${table}\n`
  })
  return [`${top}${title}`, note, ...sections].join('\n')
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('<', '&lt;')
}
