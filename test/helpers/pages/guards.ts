import { limitDefinitions } from '../../../src/identity/guards/limits.ts'

const title = '### Limits\n'
const end = '\n### Always\n'

const note = `Made from \`src/identity/guards/limits.ts\` by \`npx vitest run test/house.test.ts -u\`.
`

/** The page docs/guards.md, with its part about limits made from their table. */
export function guardsPage(page: string): string {
  const [before = ''] = page.split(title, 1)
  const after = page.slice(page.indexOf(end))
  const limits = Object.entries(limitDefinitions).map(([name, { counts, against, count, share }]) => [
    `\`${name}\``,
    counts,
    against,
    `${count}, or ${share * 100} %`,
  ])
  return (
    [`${before}${title}`, note, table(['Limit', 'Counts', 'Measured against', 'Default'], limits)].join('\n') + after
  )
}

function table(headers: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`
  return [line(headers), `|${headers.map(() => '---|').join('')}`, ...rows.map(line), ''].join('\n')
}
