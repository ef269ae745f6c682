import { catalogue } from '../../../src/daemon/metrics/catalogue.ts'

const title = '## Every metric\n'

const note = `Made from \`src/daemon/metrics/catalogue.ts\` by \`npx vitest run test/house.test.ts -u\`.
`

/** The page docs/metrics.md, with its list made from the catalogue. */
export function metricsPage(page: string): string {
  const [before = ''] = page.split(title, 1)
  const rows = Object.entries(catalogue).map(([name, { type, help, labels }]) => {
    const cells = [`\`${name}\``, type, labels.map((label) => `\`${label}\``).join(', '), help]
    return `| ${cells.join(' | ')} |`
  })
  return [`${before}${title}`, note, '| Metric | Kind | Labels | Says |', '|---|---|---|---|', ...rows, ''].join('\n')
}
