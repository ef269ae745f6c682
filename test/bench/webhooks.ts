import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { newDatabase } from './place.ts'

const run = promisify(execFile)
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const closedSeconds = 10
const receivers = ['bare', 'rollcall'] as const

const Served = z.object({ url: z.string() })
const Ended = z.object({ rows: z.number(), cpuSeconds: z.number(), peakMiB: z.number() })
const Load = z.object({
  total: z.number(),
  sent: z.number(),
  accepted: z.number(),
  perSecond: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
  maxMs: z.number(),
})

/** The figures of one receiver: at a given rate, and at its maximum. */
export type Received = {
  readonly receiver: (typeof receivers)[number]
  readonly open: z.infer<typeof Load>
  readonly closed: z.infer<typeof Load>
  readonly cpuSeconds: number
  readonly peakMiB: number
}

/** Sends signed events to our webhook and to a bare route that inserts one row for each, both on the same server and with the same load. */
export async function receiveWebhooks({
  server,
  rate,
  seconds,
}: {
  readonly server: string
  readonly rate: number
  readonly seconds: number
}): Promise<Received[]> {
  const received: Received[] = []
  for (const receiver of receivers) {
    await using database = await newDatabase(server)
    await using serving = await startReceiver(receiver, database.url)
    process.stderr.write(`${rate} events a second for ${seconds} s to ${receiver} …\n`)
    const open = await send(serving.url, `${seconds}`, `${rate}`)
    process.stderr.write(`as many as it takes for ${closedSeconds} s to ${receiver} …\n`)
    const closed = await send(serving.url, `${closedSeconds}`)
    const { rows, ...took } = await serving.end()
    if (rows !== open.total + closed.total)
      throw new Error(`${receiver} holds ${rows} rows of ${open.total + closed.total} events`)
    received.push({ receiver, open, closed, ...took })
  }
  return received
}

async function send(url: string, ...words: string[]): Promise<z.infer<typeof Load>> {
  const { stdout } = await run(process.execPath, [script('task-send.ts'), url, secret, ...words])
  return Load.parse(JSON.parse(stdout))
}

async function startReceiver(receiver: string, database: string) {
  const child = spawn(process.execPath, [script('task-receive.ts'), receiver, database, secret], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const { url } = Served.parse(await nextDocument(lines))
  return {
    url,
    async end() {
      child.stdin.end()
      return Ended.parse(await nextDocument(lines))
    },
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await ended
    },
  }
}

async function nextDocument(lines: AsyncIterator<string>): Promise<unknown> {
  const { value, done } = await lines.next()
  if (done) throw new Error('the receiver ended without another word')
  return JSON.parse(value)
}

function script(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}
