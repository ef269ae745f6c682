/**
 * `npm run results -- NAME=REPORT …` takes the JSON reports of test runs into `results.json`, and writes RESULTS.md
 * from it. A report is a row by its NAME; each of the suites below is one, and each thing that a test reports (`test/helpers/trials.ts`). What is not in
 * a report keeps its row, and so does what a test that failed was to tell: the report's row says that it failed. What a test tried at
 * random also keeps its row where that tells of a greater number of times: a short form is no news of what a long one has found.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { Results, resultsPage } from '../helpers/pages/results.ts'

const Trials = z.object({ subject: z.string(), times: z.string(), result: z.string() })
const Report = z.object({
  startTime: z.number(),
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      endTime: z.number(),
      assertionResults: z.array(
        z.object({ status: z.string(), meta: z.object({ tried: z.array(Trials).default([]) }) }),
      ),
    }),
  ),
})

/** Suites of which each test is one way in which something goes wrong, by what they try. */
const suites: readonly { readonly subject: string; readonly files: RegExp }[] = [
  { subject: 'faults of the platform, by operation and code', files: /sync\/deliver\/failures[^/]*$/ },
  { subject: 'a kill at each step of a night', files: /e2e\/crash-steps\.test\.ts$/ },
  {
    subject: 'databases and queues that are lost, stand still, are full or empty',
    files: /e2e\/(servers-lost|store-away)\.test\.ts$/,
  },
  {
    subject: 'PostgreSQL behind a pooler, with a replica, and failing over',
    files: /(database\/(pair|pooler|roles)|e2e\/postgres-in-companies)\.test\.ts$/,
  },
  { subject: 'SFTP servers that lie', files: /sftp\/hostile\.test\.ts$/ },
  {
    subject: 'backups, restores and damaged stores',
    files: /(store\/backup\/.*|cli\/backup|installation\/.*|database\/embedded-kept)\.test\.ts$/,
  },
  { subject: 'text from outside, at each outlet', files: /(text\/outlets|e2e\/outside-text)\.test\.ts$/ },
]

const kept = fileURLToPath(new URL('results.json', import.meta.url))
const page = fileURLToPath(new URL('RESULTS.md', import.meta.url))

const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
const rows = new Map(
  (existsSync(kept) ? Results.parse(JSON.parse(readFileSync(kept, 'utf8'))) : []).map((row) => [row.subject, row]),
)

for (const argument of process.argv.slice(2)) {
  const at = argument.lastIndexOf('=')
  const [name, file] = [argument.slice(0, at), argument.slice(at + 1)]
  const report = Report.parse(JSON.parse(readFileSync(file, 'utf8')))
  const day = new Date(report.startTime).toISOString().slice(0, 10)
  const minutes = Math.round(
    (Math.max(...report.testResults.map(({ endTime }) => endTime)) - report.startTime) / 60_000,
  )
  const { numPassedTests: passed, numFailedTests: failed, success } = report
  const result = success ? 'no failure' : `${failed} failed`
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  const galleries = suites.flatMap(({ subject, files }) => {
    const states = report.testResults.flatMap((one) => (files.test(one.name) ? one.assertionResults : []))
    const run = states.filter(({ status }) => status === 'passed' || status === 'failed')
    const broken = run.filter(({ status }) => status === 'failed').length
    return run.length === 0
      ? []
      : [{ subject, times: `${run.length} tests`, result: broken === 0 ? 'no failure' : `${broken} failed` }]
  })
  const tried = tests
    .flatMap(({ status, meta }) => (status === 'passed' ? meta.tried : []))
    .filter(({ subject, times }) => countIn(times) >= countIn(rows.get(subject)?.times ?? '0'))
  for (const row of [
    { subject: `\`${name}\``, times: `${passed + failed} tests, ${minutes} min`, result },
    ...galleries,
    ...tried,
  ]) {
    rows.set(row.subject, { ...row, commit, day })
  }
}

/** The number that a text begins with, such as that of the kills in "400 kills in 249 nights". */
function countIn(times: string): number {
  return Number.parseInt(times, 10)
}

const results = [...rows.values()]
writeFileSync(kept, `${JSON.stringify(results, null, 2)}\n`)
writeFileSync(page, resultsPage(results))
