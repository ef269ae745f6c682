/**
 * `npm run results -- NAME=REPORT …` takes the JSON reports of test runs into `results.json`, and writes RESULTS.md
 * from it. A report is a row by its NAME; each of the suites below is one, and each thing that a test tells (`test/helpers/tried.ts`). What is not in
 * a report keeps its row, and so does what a test that failed was to tell: the report's row says that it failed. What a test tried at
 * random also keeps its row where that tells of a greater number of times: a short form is no news of what a long one has found.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { Results, resultsPage } from '../helpers/pages/results.ts'

const Tried = z.object({ what: z.string(), times: z.string(), found: z.string() })
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
        z.object({ status: z.string(), meta: z.object({ tried: z.array(Tried).default([]) }) }),
      ),
    }),
  ),
})

/** Suites of which each test is one way in which something goes wrong, by what they try. */
const suites: readonly { readonly what: string; readonly files: RegExp }[] = [
  { what: 'faults of the platform, by operation and code', files: /sync\/deliver\/failures[^/]*$/ },
  { what: 'a kill at each step of a night', files: /e2e\/crash-steps\.test\.ts$/ },
  {
    what: 'databases and queues that are lost, stand still, are full or empty',
    files: /e2e\/(servers-lost|store-away)\.test\.ts$/,
  },
  {
    what: 'PostgreSQL behind a pooler, with a replica, and failing over',
    files: /(database\/(pair|pooler|roles)|e2e\/postgres-in-companies)\.test\.ts$/,
  },
  { what: 'SFTP servers that lie', files: /sftp\/hostile\.test\.ts$/ },
  {
    what: 'backups, restores and damaged stores',
    files: /(store\/backup\/.*|cli\/backup|installation\/.*|database\/embedded-kept)\.test\.ts$/,
  },
  { what: 'text from outside, at each outlet', files: /(text\/outlets|e2e\/outside-text)\.test\.ts$/ },
]

const kept = fileURLToPath(new URL('results.json', import.meta.url))
const page = fileURLToPath(new URL('RESULTS.md', import.meta.url))

const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
const rows = new Map(
  (existsSync(kept) ? Results.parse(JSON.parse(readFileSync(kept, 'utf8'))) : []).map((row) => [row.what, row]),
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
  const found = success ? 'no failure' : `${failed} failed`
  const tests = report.testResults.flatMap(({ assertionResults }) => assertionResults)
  const galleries = suites.flatMap(({ what, files }) => {
    const states = report.testResults.flatMap((one) => (files.test(one.name) ? one.assertionResults : []))
    const run = states.filter(({ status }) => status === 'passed' || status === 'failed')
    const broken = run.filter(({ status }) => status === 'failed').length
    return run.length === 0
      ? []
      : [{ what, times: `${run.length} tests`, found: broken === 0 ? 'no failure' : `${broken} failed` }]
  })
  const tried = tests
    .flatMap(({ status, meta }) => (status === 'passed' ? meta.tried : []))
    .filter(({ what, times }) => countIn(times) >= countIn(rows.get(what)?.times ?? '0'))
  for (const row of [
    { what: `\`${name}\``, times: `${passed + failed} tests, ${minutes} min`, found },
    ...galleries,
    ...tried,
  ]) {
    rows.set(row.what, { ...row, commit, day })
  }
}

/** The number that a text begins with, such as that of the kills in "400 kills in 249 nights". */
function countIn(times: string): number {
  return Number.parseInt(times, 10)
}

const results = [...rows.values()]
writeFileSync(kept, `${JSON.stringify(results, null, 2)}\n`)
writeFileSync(page, resultsPage(results))
