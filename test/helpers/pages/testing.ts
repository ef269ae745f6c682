import { z } from 'zod'

/** What was run and what it found, a row for each thing, as `test/nightly/results.json` keeps them. */
export const Results = z.array(
  z.strictObject({
    what: z.string(),
    times: z.string(),
    found: z.string(),
    /** The commit that was tested, and the day. */
    commit: z.string(),
    day: z.iso.date(),
  }),
)
export type Results = z.infer<typeof Results>

const title = '## What was run\n'
const end = '\n## Writing a test\n'

const note = `
Made from \`test/nightly/results.json\`, which \`npm run results\` writes from the reports of such runs. Each row is the last time that
it was run; of what is tried at random, the last time that it was tried so often.
`

/** The page docs/testing.md, with the table of what was run made from the results. */
export function testingPage(page: string, results: Results): string {
  const [before = ''] = page.split(title, 1)
  const after = page.slice(page.indexOf(end))
  const rows = results.map(
    ({ what, times, found, commit, day }) => `| ${what} | ${times} | ${found} | \`${commit}\`, ${day} |`,
  )
  const head = ['| What | How often | What it found | Commit, day |', '|---|---|---|---|']
  return `${[`${before}${title.trimEnd()}`, note, ...head, ...rows, ''].join('\n')}${after}`
}
