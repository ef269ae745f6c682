import { roles } from '../../../src/contract/control/access.ts'
import { control } from '../../../src/contract/control/control.ts'

const title = '## What each role may do\n'

const note = `Made from \`src/contract/control/\` by \`npx vitest run test/house.test.ts -u\`. Each role also may do what the roles above it may.
The [OpenAPI document](api.md) names the role of each request.
`

/** The page docs/access.md, with its lists made from the operations of the control API. */
export function accessPage(page: string): string {
  const [before = ''] = page.split(title, 1)
  const sections = roles.flatMap((role) => {
    const rows = Object.values(control)
      .filter(({ permission }) => permission === role)
      .map(({ summary }) => `- ${firstSentence(summary)}`)
    const values = role === 'operator' ? ['- See personal values (`values=true`).'] : []
    return [`### ${role}\n`, ...rows, ...values, '']
  })
  return [`${before}${title}`, note, ...sections].join('\n')
}

function firstSentence(summary: string): string {
  return summary.split(/(?<=\.) (?=[A-Z])/, 1)[0] ?? summary
}
