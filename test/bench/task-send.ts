import { Pool } from 'undici'
import { namedRecipe } from '../../src/connectors/webhook/named-recipes.ts'
import { signWebhook } from '../../src/connectors/webhook/sign.ts'
import { quantile } from './quantile.ts'

// Sends signed events to an address: at a fixed rate whatever the answers are (`--rate`), or as fast as they are
// answered. Prints how many were accepted, and for each the time from when it was due to the end of its answer.
const connections = 256
const tickMs = 2
const warmUpSeconds = 3
const recipe = namedRecipe('standard-webhooks')

const [address = '', secret = '', secondsText = '', rateText = ''] = process.argv.slice(2)
const url = new URL(address)
const seconds = Number(secondsText)
const rate = rateText === '' ? null : Number(rateText)
const pool = new Pool(url.origin, { connections, pipelining: 1 })
const run = process.pid
let sent = 0
let beganMs = 0

await (rate === null ? asAnswered(warmUpSeconds) : asDue(rate, warmUpSeconds))
const measured = await (rate === null ? asAnswered(seconds) : asDue(rate, seconds))
const tookSeconds = (performance.now() - beganMs) / 1000
await pool.close()
const times = measured
  .filter(({ accepted }) => accepted)
  .map(({ ms }) => ms)
  .sort((a, b) => a - b)
process.stdout.write(
  `${JSON.stringify({
    total: sent,
    sent: measured.length,
    accepted: times.length,
    perSecond: times.length / tookSeconds,
    p50Ms: quantile(times, 0.5),
    p99Ms: quantile(times, 0.99),
    maxMs: quantile(times, 1),
  })}\n`,
)

type Sent = { readonly accepted: boolean; readonly ms: number }

async function asDue(perSecond: number, forSeconds: number): Promise<Sent[]> {
  const requests = Array.from({ length: perSecond * forSeconds }, () => prepared())
  const answers: Promise<Sent>[] = []
  beganMs = performance.now()
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const due = Math.min(requests.length, Math.floor(((performance.now() - beganMs) / 1000) * perSecond))
      for (let next = requests[answers.length]; next && answers.length < due; next = requests[answers.length]) {
        answers.push(send(next, beganMs + (answers.length / perSecond) * 1000))
      }
      if (answers.length < requests.length) return
      clearInterval(timer)
      resolve()
    }, tickMs)
  })
  return await Promise.all(answers)
}

async function asAnswered(forSeconds: number): Promise<Sent[]> {
  const answers: Sent[] = []
  beganMs = performance.now()
  const endMs = beganMs + forSeconds * 1000
  await Promise.all(
    Array.from({ length: connections }, async () => {
      while (performance.now() < endMs) answers.push(await send(prepared(), performance.now()))
    }),
  )
  return answers
}

type Prepared = { readonly body: string; readonly headers: Readonly<Record<string, string>> }

function prepared(): Prepared {
  sent += 1
  const id = `msg_${run}_${sent}`
  const employee = {
    id: `E${sent}`,
    firstName: 'Ana',
    lastName: 'Lopez',
    email: `e${sent}@acme.example`,
    jobTitle: 'Engineer',
  }
  const body = JSON.stringify({
    id,
    type: 'employee.updated',
    occurredAt: new Date().toISOString(),
    data: { employee },
  })
  const signed = signWebhook({ recipe, secret, id, body: Buffer.from(body), now: new Date() })
  return { body, headers: { 'content-type': 'application/json', ...signed } }
}

async function send({ body, headers }: Prepared, dueMs: number): Promise<Sent> {
  const answer = await pool.request({ path: url.pathname, method: 'POST', headers, body })
  await answer.body.dump()
  return { accepted: answer.statusCode === 200, ms: performance.now() - dueMs }
}
