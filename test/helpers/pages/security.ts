import { type Holds, storedData } from '../../../src/store/retention/stored-data.ts'
import { threats } from '../threats.ts'

const titleOfTables = '### Tables\n'
const endOfTables = '\n## Secrets\n'
const titleOfThreats = '## Threat model\n'
const endOfThreats = '\n## Not covered\n'

const noteOfTables = `\`valuesDays\` and \`historyDays\` are the settings of \`retention\`, counted from the end of the run. The newest 100 runs of a connection stay in any
case, with what \`historyDays\` would remove. *values* are personal values, *keys* are keys of people, *words* are texts that an operator typed or
a server returned.
`
const noteOfThreats = `Made from [test/helpers/threats.ts](../test/helpers/threats.ts), which names the tests of each row.
`

const holds: Readonly<Record<Holds, string>> = { values: 'values', keys: 'keys', words: 'words', none: '' }

/** The page docs/security.md, with the tables of what the store keeps and of the threats made from the code. */
export function securityPage(page: string): string {
  return withThreats(withTables(page))
}

function withTables(page: string): string {
  const rows = Object.entries(storedData).flatMap(([table, groups]) =>
    groups.map((group) => [`\`${table}\``, holds[group.holds], group.description, group.removedWhen]),
  )
  const part = [titleOfTables, noteOfTables, ...lines(['Table', 'Holds', 'What', 'Removed when'], rows)]
  return replacePart(page, { title: titleOfTables, end: endOfTables, part })
}

function withThreats(page: string): string {
  const rows = Object.entries(threats).flatMap(([target, members]) =>
    members.map(({ from, protection }, index) => [index === 0 ? target : '', from, protection]),
  )
  const part = [titleOfThreats, noteOfThreats, ...lines(['What', 'From', 'What prevents it'], rows)]
  return replacePart(page, { title: titleOfThreats, end: endOfThreats, part })
}

type Part = { readonly title: string; readonly end: string; readonly part: readonly string[] }

function replacePart(page: string, { title, end, part: [heading = '', ...body] }: Part): string {
  const [before = ''] = page.split(title, 1)
  return `${before}${heading}${['', ...body].join('\n')}${page.slice(page.indexOf(end))}`
}

function lines(head: readonly string[], rows: readonly (readonly string[])[]): string[] {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(head), `|${head.map(() => '---|').join('')}`, ...rows.map(line), '']
}
