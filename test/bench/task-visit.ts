import { Pool } from 'undici'
import { signIn } from '../helpers/visitor.ts'
import { quantile } from './quantile.ts'

// Requests console pages at a fixed rate, like many people, until its input ends. Prints `"looking"` once it has begun, and
// at the end the answers.
const connections = 64
const tickMs = 5
const mostWaiting = 400
const [url = '', token = '', rateText = ''] = process.argv.slice(2)
const perSecond = Number(rateText)

const cookie = await signIn(url, token)
const pool = new Pool(url, { connections, pipelining: 1 })
const runs = await textOf('/runs')
const run = /href="(\/runs\/[0-9a-f-]{36})"/.exec(runs)?.[1] ?? '/runs'
// Mostly the requests that open windows send by themselves, and some pages that people open.
const parts = ['/overview', `${run}/progress`, '/problems/current']
const pages = ['/', '/runs', run, '/people', '/problems', '/sources', '/schedules']
const paths = pages.flatMap((page) => [...parts, page])

const times: number[] = []
let [requested, waiting] = [0, 0]
const beganMs = performance.now()
const timer = setInterval(() => {
  const due = Math.floor(((performance.now() - beganMs) / 1000) * perSecond)
  for (; requested < due; requested += 1) {
    // People do not open more and more windows of a console that does not answer.
    if (waiting < mostWaiting) void look(requested)
  }
}, tickMs)
process.stdout.write('"looking"\n')
for await (const _ of process.stdin);
clearInterval(timer)
const seconds = (performance.now() - beganMs) / 1000
await pool.destroy()
times.sort((a, b) => a - b)
process.stdout.write(
  `${JSON.stringify({
    asked: requested,
    shown: times.length,
    perSecond: times.length / seconds,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
  })}\n`,
)

/** Records how long a visitor waited for the page, counted from when it was due, if it was shown. */
async function look(at: number): Promise<void> {
  waiting += 1
  const dueMs = beganMs + (at / perSecond) * 1000
  try {
    const answer = await pool.request({ path: paths[at % paths.length] ?? '/', method: 'GET', headers: { cookie } })
    await answer.body.dump()
    if (answer.statusCode === 200) times.push(performance.now() - dueMs)
  } catch {
    // The page was not shown, or is closed again.
  } finally {
    waiting -= 1
  }
}

async function textOf(path: string): Promise<string> {
  const { body } = await pool.request({ path, method: 'GET', headers: { cookie } })
  return await body.text()
}
