import { mayDo, roles } from '../../../src/contract/control/access.ts'
import { control } from '../../../src/contract/control/control.ts'

const title = '## What each role may do\n'

const note = `Made from \`src/contract/control/\` by \`npx vitest run test/house.test.ts -u\`. Each role may do what those before it may.
`

/** The page docs/access.md, with its table made from the operations of the control API. */
export function accessPage(page: string): string {
  const [before = ''] = page.split(title, 1)
  const operations = Object.values(control).toSorted(
    (one, other) => roles.indexOf(one.permission) - roles.indexOf(other.permission),
  )
  const rows = operations.map(({ permission, method, path, summary }) => {
    const may = roles.map((role) => (mayDo(role, permission) ? 'yes' : ''))
    return `| ${summary} | \`${method} ${path}\` | ${may.join(' | ')} |`
  })
  const values = `| See personal values (\`values=true\`) | | ${roles.map((role) => (mayDo(role, 'operator') ? 'yes' : '')).join(' | ')} |`
  const head = ['| What | Operation |', ...roles.map((role) => ` ${role} |`)].join('')
  return [`${before}${title}`, note, head, '|---|---|---|---|---|---|', ...rows, values, ''].join('\n')
}
