import { auditActs } from '../../../src/store/audit/trail.ts'

const title = '### Acts\n'

const note = `Made from \`src/store/audit/trail.ts\` by \`npx vitest run test/house.test.ts -u\`.
`

/** The page docs/audit.md, with its list of acts made from their table. */
export function auditPage(page: string): string {
  const [before = ''] = page.split(title, 1)
  const rows = Object.entries(auditActs).map(([act, meaning]) => `| \`${act}\` | ${meaning} |`)
  return [`${before}${title}`, note, '| Act | Means |', '|---|---|', ...rows, ''].join('\n')
}
