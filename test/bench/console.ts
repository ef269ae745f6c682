import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { control, controlPrefix } from '../../src/contract/control/control.ts'
import { Failure } from '../../src/errors.ts'
import { remoteCalls } from '../../src/http/client/remote-calls.ts'
import { boundTo } from './cores.ts'
import type { BenchEnvironment } from './place.ts'
import { Measured } from './tasks.ts'

const Served = z.object({ url: z.string() })

/** The answers to people who use the console. Times count from when each request was due. */
const Visited = z.object({
  asked: z.int(),
  shown: z.int(),
  perSecond: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
})

export type DeliveredBesideVisits = {
  /** The deliveries of everybody by the same daemon before and after. */
  readonly alone: readonly Measured[]
  readonly beside: Measured
  readonly visits: z.infer<typeof Visited>
}

/** Delivers everybody three times with one daemon of all roles, the second time while people use the console. */
export async function deliverBesideVisits(environment: BenchEnvironment, rate: number): Promise<DeliveredBesideVisits> {
  const token = environment.env.BENCH_TOKEN ?? ''
  await using daemon = startTask(environment, 'task-serve.ts', environment.config)
  const { url } = await daemon.next(Served)
  const calls = remoteCalls(
    control,
    { baseUrl: `${url}${controlPrefix}`, bearer: token },
    (answer) => new Failure('conflict', `the daemon answers ${JSON.stringify(answer)}`),
  )
  const deliver = async (): Promise<Measured> => {
    await calls.startRun({ params: { connection: 'hr' }, body: { full: true } })
    return await daemon.next(Measured)
  }
  // In the first delivery the platform and the daemon have just started.
  await deliver()
  const before = await deliver()
  await using visitors = startTask(environment, 'task-visit.ts', url, token, `${rate}`)
  await visitors.next(z.literal('looking'))
  const beside = await deliver()
  visitors.end()
  const visits = await visitors.next(Visited)
  return { alone: [before, await deliver()], beside, visits }
}

/** A separate process that prints JSON documents one after the other, and ends when its input ends. */
export function startTask({ env, cores }: BenchEnvironment, script: string, ...words: string[]) {
  const path = fileURLToPath(new URL(script, import.meta.url))
  const child = spawn(...boundTo(cores?.ours ?? null, process.execPath, [path, ...words]), {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const ended = once(child, 'exit')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  return {
    async next<T>(shape: z.ZodType<T>): Promise<T> {
      const { value, done } = await lines.next()
      if (done) throw new Error(`${script} ended without another word`)
      return shape.parse(JSON.parse(value))
    },
    end: () => void child.stdin.end(),
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await ended
    },
  }
}
