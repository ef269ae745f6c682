import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { openQueue } from '../../src/queue/queue.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { createEmptyPostgresDatabase } from '../helpers/servers/databases.ts'
import { redisUrl } from '../helpers/servers/provided.ts'
import { firstOf, isFull } from '../helpers/tier.ts'
import { noting } from './samples.ts'

type Address = AsyncDisposable & { readonly at: string }

const backends: readonly { readonly name: string; readonly openStore: () => Promise<Address> }[] = [
  { name: 'Redis', openStore: async () => ({ at: await redisUrl(), async [Symbol.asyncDispose]() {} }) },
  { name: 'PostgreSQL', openStore: createEmptyPostgresDatabase },
  { name: 'PGlite', openStore: folder },
]

async function folder(): Promise<Address> {
  const at = await mkdtemp(join(tmpdir(), 'rollcall-queue-'))
  return { at, [Symbol.asyncDispose]: () => rm(at, { recursive: true, force: true }) }
}

const program = fileURLToPath(new URL('working-process.ts', import.meta.url))
const locks = { lockSeconds: 1, checkSeconds: 0.3 }
// BullMQ by itself gives a job up the second time its worker dies.
const deaths = isFull ? 3 : 2

describe.each(firstOf(2, backends))('in $name', ({ openStore }) => {
  test('the next worker takes over a job whose workers are killed again and again', async () => {
    await using address = await openStore()
    const name = `killed-${process.pid}`
    for (let death = 0; death < deaths; death += 1) await takeUpAndDie(address.at, name)
    const recorder = noting(1)

    await using opened = await openAt(address.at, name)
    await using _working = await opened.queue.work(recorder.workers, { concurrency: 1 })
    await recorder.enough

    expect(recorder.batches).toEqual([1])
  })
})

async function takeUpAndDie(at: string, name: string): Promise<void> {
  const child = spawn(process.execPath, [program, at, name, JSON.stringify(locks)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const output = await Promise.race([once(child.stdout, 'data'), exited])
  expect(String(output[0])).toBe('begun\n')
  child.kill('SIGKILL')
  await exited
}

async function openAt(at: string, name: string) {
  await using opening = new AsyncDisposableStack()
  const events = silentEvents()
  const backend = at.startsWith('redis:')
    ? ({ kind: 'redis', url: at } as const)
    : ({
        kind: 'database',
        database: opening.use(await openDatabase({ at, schemas: ['rollcall', 'bullmq'], migrations: [] })),
      } as const)
  const queue = opening.use(await openQueue({ backend, name, events, locks }))
  const opened = opening.move()
  return { queue, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}
