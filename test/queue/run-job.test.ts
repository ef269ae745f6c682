import { describe, expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import { type BoundWorkers, Postponed } from '../../src/queue/jobs.ts'
import { type HandedOut, runJob } from '../../src/queue/run-job.ts'
import { type Event, silentEvents } from '../../src/telemetry/events.ts'

const runId = '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'

function job(fields: Partial<HandedOut> = {}): HandedOut {
  return { id: 'upsert-1', name: 'upsert', data: { runId, batch: 1 }, attempt: 1, attempts: 5, ...fields }
}

function workers(fields: Partial<BoundWorkers> = {}): BoundWorkers {
  const idle = async (): Promise<void> => {}
  return { run: idle, upsert: idle, update: idle, delete: idle, session: idle, ...fields }
}

function failing(error: unknown): BoundWorkers {
  return workers({
    async upsert() {
      throw error
    },
  })
}

const context = { signal: new AbortController().signal, events: silentEvents() }

test('a worker gets the parsed payload of its job', async () => {
  const payloads: unknown[] = []
  const noting = workers({
    async upsert(payload) {
      payloads.push(payload)
    },
  })

  const outcome = await runJob(job(), noting, context)

  expect(outcome).toEqual({ kind: 'finished' })
  expect(payloads).toEqual([{ runId, batch: 1 }])
})

describe('an invalid job fails finally before a worker sees it', () => {
  test.each([
    ['no payload', { data: undefined }],
    ['a payload that lacks the batch', { data: { runId } }],
    ['a batch that is no number', { data: { runId, batch: 'one' } }],
    ['a run id that is none', { data: { runId: 'r1', batch: 1 } }],
    ['fields that nobody asked for', { data: { runId, batch: 1, email: 'ana@example.com' } }],
    ['a name that nobody knows', { name: 'upset' }],
    ['a name that every object knows', { name: 'constructor' }],
  ])('%s', async (_case, fields) => {
    const outcome = await runJob(job(fields), failing(new Error('reached')), context)

    expect(outcome).toMatchObject({ kind: 'failed', final: true, code: /invalid|unknown/ })
  })
})

describe('whether a failure is final', () => {
  test.each([
    ['one that can pass is tried again', new Failure('platform_unreachable', 'no answer'), 1, false],
    ['one that cannot pass is final', new Failure('blocked', 'refused'), 1, true],
    ['one that can pass is final on the last attempt', new Failure('platform_unreachable', 'no answer'), 5, true],
    ['a bug is tried again', new TypeError('this is not a function'), 1, false],
    ['a bug is final on the last attempt', new TypeError('this is not a function'), 5, true],
    ['something thrown that is no error is tried again', 'oops', 1, false],
  ])('%s', async (_case, error, attempt, final) => {
    const outcome = await runJob(job({ attempt }), failing(error), context)

    expect(outcome).toMatchObject({ kind: 'failed', final })
  })
})

test('a failure is reported with its code, its reason and the attempt', async () => {
  const reported: Event[] = []
  const events = silentEvents((event) => reported.push(event))

  await runJob(job({ attempt: 2 }), failing(new Failure('platform_unreachable', 'no answer')), { ...context, events })

  expect(reported).toEqual([
    {
      event: 'job.failed',
      job: 'upsert',
      id: 'upsert-1',
      attempt: 2,
      final: false,
      code: 'platform_unreachable',
      reason: 'no answer',
    },
  ])
})

test('a bug is reported with its error, and the outcome lacks its message', async () => {
  const reported: unknown[] = []
  const events = silentEvents((event) => {
    if (event.event === 'unexpected') reported.push(event.error)
  })
  const bug = new TypeError('cannot read Ana Ruiz')

  const outcome = await runJob(job(), failing(bug), { ...context, events })

  expect(reported).toEqual([bug])
  expect(JSON.stringify(outcome)).not.toContain('Ana')
})

test('a postponed job is neither finished nor failed, also on its last attempt', async () => {
  const outcome = await runJob(job({ attempt: 5 }), failing(new Postponed(1_500)), context)

  expect(outcome).toEqual({ kind: 'postponed', delayMs: 1_500 })
})

describe('when the work is aborted', () => {
  test('a job that has not begun is returned without beginning', async () => {
    const outcome = await runJob(job(), failing(new Error('reached')), { ...context, signal: AbortSignal.abort() })

    expect(outcome).toEqual({ kind: 'returned' })
  })

  test('the job of a worker that breaks off is returned', async () => {
    const stopping = new AbortController()
    const obedient = workers({
      async upsert(_payload, signal) {
        stopping.abort()
        signal.throwIfAborted()
      },
    })

    const outcome = await runJob(job(), obedient, { ...context, signal: stopping.signal })

    expect(outcome).toEqual({ kind: 'returned' })
  })

  test('a worker that finishes nevertheless has finished', async () => {
    const stopping = new AbortController()
    const quick = workers({
      async upsert() {
        stopping.abort()
      },
    })

    const outcome = await runJob(job(), quick, { ...context, signal: stopping.signal })

    expect(outcome).toEqual({ kind: 'finished' })
  })

  test('the job of a worker that never ends is returned', async () => {
    const stopping = new AbortController()
    const deaf = workers({
      upsert() {
        stopping.abort()
        return new Promise(() => {})
      },
    })

    const outcome = await runJob(job(), deaf, { ...context, signal: stopping.signal })

    expect(outcome).toEqual({ kind: 'returned' })
  })
})
