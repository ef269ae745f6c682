import { areas, rooms, top } from '../arrows.ts'

const title = '## Import rules\n'
const end = '\n## A run\n'

const note = `Made from \`test/helpers/arrows.ts\` by \`npx vitest run test/house.test.ts -u\`; \`test/boundaries.test.ts\` reads the same table and every import
line of \`src/\`. Nothing imports in a circle, types included. \`${top}\` is the files of an area that lie in none of its rooms; a file that is
named is public in its room.
`

/** The page docs/design.md, with its part about imports made from the table of arrows. */
export function designPage(page: string): string {
  const [before = ''] = page.split(title, 1)
  const after = page.slice(page.indexOf(end))
  const inside = Object.entries(rooms).map(([area, arrows]) => `### Inside \`${area}/\`\n\n${table('Room', arrows)}`)
  return [`${before}${title}`, note, table('Area', areas), ...inside].join('\n') + after
}

function table(what: string, arrows: Readonly<Record<string, readonly string[]>>): string {
  const rows = Object.entries(arrows).map(
    ([from, others]) => `| \`${from}\` | ${others.map((to) => `\`${to}\``).join(', ')} |`,
  )
  return [`| ${what} | may import |`, '|---|---|', ...rows, ''].join('\n')
}
