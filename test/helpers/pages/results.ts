import { z } from 'zod'

/** What was run and what it found, a row for each thing, as `test/nightly/results.json` keeps them. */
export const Results = z.array(
  z.strictObject({
    subject: z.string(),
    times: z.string(),
    result: z.string(),
    /** The commit that was tested, and the day. */
    commit: z.string(),
    day: z.iso.date(),
  }),
)
export type Results = z.infer<typeof Results>

/** The page test/nightly/RESULTS.md: the last run of each long test and of what it tries. */
export function resultsPage(results: Results): string {
  const rows = results.map(
    ({ subject, times, result, commit, day }) => `| ${subject} | ${times} | ${result} | \`${commit}\`, ${day} |`,
  )
  return `# Results of long test runs

Written by \`npm run results\` from \`results.json\`. Each row is the last run; for random suites, the last run of at least that length.

| What | How often | Result | Commit, day |
|---|---|---|---|
${rows.join('\n')}
`
}
