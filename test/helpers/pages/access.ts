import { roles } from '../../../src/contract/control/access.ts'
import { control } from '../../../src/contract/control/control.ts'

const title = '## What each role may do\n'

const note = `Made from \`src/contract/control/\` by \`npx vitest run test/house.test.ts -u\`. Each role may do what the roles before it may: viewer, operator, approver, admin.
`

/** The page docs/access.md, with its table made from the operations of the control API. */
export function accessPage(page: string): string {
  const [before = ''] = page.split(title, 1)
  const operations = Object.values(control).toSorted(
    (one, other) => roles.indexOf(one.permission) - roles.indexOf(other.permission),
  )
  const rows = operations.map(
    ({ permission, method, path, summary }) => `| ${firstSentence(summary)} | \`${method} ${path}\` | ${permission} |`,
  )
  const values = '| See personal values (`values=true`) | | operator |'
  const head = '| What | Operation | From the role |'
  return [`${before}${title}`, note, head, '|---|---|---|', ...rows, values, ''].join('\n')
}

function firstSentence(summary: string): string {
  return summary.split(/(?<=\.) (?=[A-Z])/, 1)[0] ?? summary
}
