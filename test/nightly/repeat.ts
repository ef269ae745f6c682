/**
 * `npm run test:repeat -- TIMES FILE …` runs the small form TIMES times, of the given files or of all, and lists what failed and in which
 * runs. A test that fails in some of them is a defect. Exits with 1 if anything failed.
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { z } from 'zod'

const Report = z.object({
  success: z.boolean(),
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(z.object({ status: z.string(), fullName: z.string() })),
    }),
  ),
})

const [count = '', ...files] = process.argv.slice(2)
const times = Number(count)
if (!Number.isInteger(times) || times < 1) {
  process.stderr.write('how many times? For example: npm run test:repeat -- 10 test/store/audit/trail.test.ts\n')
  process.exit(64)
}

const runs = Array.from({ length: times }, (_, index) => index + 1)
const failures = Map.groupBy(
  runs.flatMap((run) => failuresOf(run).map((failure) => ({ failure, run }))),
  ({ failure }) => failure,
)
for (const [failure, places] of failures) {
  console.log(`${places.length} of ${times} runs (${places.map(({ run }) => run).join(', ')}): ${failure}`)
}
console.log(`${times} runs, ${failures.size === 0 ? 'no failure' : `${failures.size} failed at least once`}`)
process.exitCode = failures.size === 0 ? 0 : 1

/** Runs everything once, and names what failed: tests, files that could not be loaded, or the run itself. */
function failuresOf(run: number): string[] {
  const folder = mkdtempSync(join(tmpdir(), 'rollcall-repeat-'))
  const file = join(folder, 'report.json')
  console.log(`== run ${run} of ${times}`)
  const words = ['test', '--', '--reporter=default', '--reporter=json', `--outputFile=${file}`, ...files]
  const ended = spawnSync('npm', words, { stdio: 'inherit' })
  const report = existsSync(file) ? Report.parse(JSON.parse(readFileSync(file, 'utf8'))) : null
  rmSync(folder, { recursive: true })
  const failed = (report?.testResults ?? []).flatMap(({ name, status, assertionResults }) => {
    const path = relative(process.cwd(), name)
    const tests = assertionResults.filter((test) => test.status === 'failed')
    if (tests.length > 0) return tests.map(({ fullName }) => `${path}: ${fullName}`)
    return status === 'failed' ? [`${path}: could not be loaded`] : []
  })
  if (failed.length > 0 || (ended.status === 0 && report?.success)) return failed
  return [`the run itself (${ended.signal ?? `exit code ${ended.status}`}): an error outside of any test, or no test`]
}
