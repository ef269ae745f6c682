import { type Holds, storedData } from '../../../src/store/retention/stored-data.ts'

const title = '### Tables\n'
const end = '\n## Secrets\n'

const note = `Made from \`src/store/retention/stored-data.ts\` by \`npx vitest run test/house.test.ts -u\`. A test compares it with the database.
`

const holds: Readonly<Record<Holds, string>> = { values: 'values', keys: 'keys', words: 'words', none: '' }

/** The page docs/security.md, with what the store keeps made from the table in the code. */
export function securityPage(page: string): string {
  const [before = ''] = page.split(title, 1)
  const after = page.slice(page.indexOf(end))
  const rows = Object.entries(storedData).flatMap(([table, groups]) =>
    groups.map((group) => `| \`${table}\` | ${holds[group.holds]} | ${group.description} | ${group.removedWhen} |`),
  )
  return (
    [`${before}${title}`, note, '| Table | Holds | What | Until |', '|---|---|---|---|', ...rows, ''].join('\n') + after
  )
}
