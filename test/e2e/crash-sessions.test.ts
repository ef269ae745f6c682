import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type CrashDaemon, prepareDaemon } from '../helpers/crash/crashes.ts'
import { liveRecords, recordSchema, workspaceOf } from '../helpers/custom-records.ts'
import { type FaultProxy, startFaultProxy } from '../helpers/faults/proxy.ts'
import { isFull } from '../helpers/tier.ts'
import { openWorkplace } from '../helpers/workplace.ts'
import { type Host, startHost } from '../helpers/world.ts'

/** Twelve records and four in a batch: three uploads and a completion. */
const people = 12
const batchSize = 4
const requests = [1, 2, 3, 4]

const steps = [
  { when: 'the plan is accepted', step: 'run.committed', nth: 1 },
  ...requests.map((nth) => ({ when: `request ${nth} is about to go out`, step: 'request.begun', nth })),
  ...requests.map((nth) => ({ when: `the answer to request ${nth} has come`, step: 'request.ended', nth })),
  { when: 'the outcome is settled', step: 'delivery.sent', nth: 1 },
].filter((_step, index) => isFull || index % 6 === 3)

let host: Host
let site: Awaited<ReturnType<typeof open>>
beforeAll(async () => {
  host = await startHost()
  site = await open()
  await site.export('Sales')
  const daemon = await site.daemon()
  await site.ask(daemon)
  await daemon.atRest()
})
afterAll(async () => {
  await site[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

async function open() {
  await using opening = new AsyncDisposableStack()
  const { key, client, name } = await host.tenant()
  const workspace = await workspaceOf(host, name)
  const proxy: FaultProxy = opening.use(await startFaultProxy({ target: host.platform.baseUrl }))
  const target = {
    name: 'Records',
    type: 'CUSTOM',
    workspaces: [workspace],
    displayNameKey: 'name',
    schema: recordSchema,
  }
  const work = opening.use(
    await openWorkplace(
      {
        baseUrl: proxy.baseUrl,
        key,
        target: JSON.stringify(target),
        source: 'fields: { identityId: Key }, record: { name: Name, department: Department }',
      },
      { hasStore: true },
    ),
  )
  // Everybody changes with each export, and the exports of one day are added up.
  const guards = '{ fieldChanges: { count: 1000 }, unusual: { enabled: false } }'
  await work.configure({ connection: `    delivery: { batchSize: ${batchSize} }\n    guards: ${guards}\n` })
  let running: CrashDaemon | undefined
  let night = 0
  const opened = opening.move()
  return {
    client,
    proxy,
    async export(department: string): Promise<void> {
      const rows = Array.from({ length: people }, (_, at) => `E${at},Person ${at},${department}`)
      await work.drop(`people-${night++}.csv`, ['Key,Name,Department', ...rows, ''].join('\n'))
    },
    /** The next daemon, which is asked for a run. */
    async daemon(): Promise<CrashDaemon> {
      await running?.kill()
      running = opened.use(prepareDaemon(work))
      await running.start()
      return running
    },
    async ask(daemon: CrashDaemon): Promise<void> {
      const control = await daemon.control()
      // A daemon that dies meanwhile answers nothing.
      await control.startRun({ params: { connection: 'acme' }, body: {} }).catch((error: unknown) => {
        if (daemon.lives) throw error
      })
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** The departments of all live records: one, if they are of one export. */
async function departments(): Promise<string> {
  const live = [...(await liveRecords(site.client)).values()] as { department: string }[]
  return `${live.length} of ${[...new Set(live.map(({ department }) => department))].toSorted().join('+')}`
}

/** Reads again and again until `work` is done. Answers everything that was seen. */
async function watched<T>(
  work: () => Promise<T>,
): Promise<{ readonly observed: ReadonlySet<string>; readonly result: T }> {
  const observed = new Set<string>()
  let isOver = false
  const reader = async () => {
    while (!isOver) observed.add(await departments())
  }
  const reading = reader()
  try {
    const result = await work()
    observed.add(await departments())
    return { observed: observed, result }
  } finally {
    isOver = true
    await reading
  }
}

describe('readers of a set of records see the old or the new set, and never a mixture', () => {
  let [now, next] = ['Sales', 'Engineering']

  test.each(steps)('if the daemon is killed when $when', async ({ step, nth }) => {
    const daemon = await site.daemon()
    await site.export(next)
    await daemon.dieAt(step, nth)

    const { observed, result } = await watched(async () => {
      const [end] = await Promise.all([daemon.ended, site.ask(daemon)])
      const second = await site.daemon()
      await second.atRest()
      return end
    })

    expect(result).toBe('SIGKILL')
    expect([...observed].filter((set) => ![`${people} of ${now}`, `${people} of ${next}`].includes(set))).toEqual([])
    expect(await departments()).toBe(`${people} of ${next}`)
    ;[now, next] = [next, now]
  })

  test('if the platform has completed a session and its answer is lost', async () => {
    const daemon = await site.daemon()
    await site.export(next)
    const applied = site.proxy.hold(({ operation }) => operation === 'performSessionAction')

    const { observed } = await watched(async () => {
      await site.ask(daemon)
      const held = await applied
      await daemon.kill()
      held.release()
      const second = await site.daemon()
      await second.atRest()
    })

    expect([...observed].filter((set) => ![`${people} of ${now}`, `${people} of ${next}`].includes(set))).toEqual([])
    expect(await departments()).toBe(`${people} of ${next}`)
  })
})
