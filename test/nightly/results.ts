/**
 * `npm run results -- NAME=REPORT …` takes the JSON reports of test runs into `results.json`, and writes the table of docs/testing.md
 * from it. A report is a row by its NAME, and each thing in it that a test tells (`test/helpers/tried.ts`) is one too. What is not in
 * a report keeps its row, and so does what a test that failed was to tell: the report's row says that it failed.
 */
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { Results, testingPage } from '../helpers/pages/testing.ts'

const Tried = z.object({ what: z.string(), times: z.string(), found: z.string() })
const Report = z.object({
  startTime: z.number(),
  numPassedTests: z.int(),
  numFailedTests: z.int(),
  success: z.boolean(),
  testResults: z.array(
    z.object({
      endTime: z.number(),
      assertionResults: z.array(
        z.object({ status: z.string(), meta: z.object({ tried: z.array(Tried).default([]) }) }),
      ),
    }),
  ),
})

const kept = fileURLToPath(new URL('results.json', import.meta.url))
const page = fileURLToPath(new URL('../../docs/testing.md', import.meta.url))

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
  const tried = tests.flatMap(({ status, meta }) => (status === 'passed' ? meta.tried : []))
  for (const row of [{ what: `\`${name}\``, times: `${passed + failed} tests, ${minutes} min`, found }, ...tried]) {
    rows.set(row.what, { ...row, commit, day })
  }
}

const results = [...rows.values()]
writeFileSync(kept, `${JSON.stringify(results, null, 2)}\n`)
writeFileSync(page, testingPage(readFileSync(page, 'utf8'), results))
