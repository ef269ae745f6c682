import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { connect, keepSecret } from '../helpers/connected.ts'
import { dawdle, post, type Served, serve, signedAs } from '../helpers/served.ts'
import { isFull } from '../helpers/tier.ts'
import { openWorkplace } from '../helpers/workplace.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
/** Events that are answered before a kill. */
const count = isFull ? 200 : 50
const patience = { timeout: 120_000, interval: 200 }

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

type Employee = Readonly<Record<string, string | null>>

/** An event of the imaginary HR system, which happened some seconds ago. */
function event(type: 'hired' | 'updated' | 'terminated', employee: Employee, { ageSeconds = 0 } = {}): string {
  return JSON.stringify({ type, at: new Date(Date.now() - ageSeconds * 1000).toISOString(), employee })
}

const hired = (id: string, more: Employee = {}) => event('hired', { id, start: '2026-01-05', ...more })

/** A person of many, with an e-mail address and a start of their own: a first plan of people without either is held. */
const hiredOn = (at: number, id: string) =>
  hired(id, { email: `${id.toLowerCase()}@acme.example`, start: `2026-01-${String(1 + (at % 28)).padStart(2, '0')}` })

/** A workplace whose connection has a webhook and nothing else. */
async function openWebhookWorkplace() {
  const tenant = await host.tenant()
  const { baseUrl } = host.platform
  const work = await openWorkplace({ baseUrl, key: tenant.key }, { hasStore: true })
  const secrets = [await keepSecret(work, 'hook', secret)]
  async function configure({ dates = 'yyyy-MM-dd' } = {}): Promise<void> {
    const webhook = {
      recipe: 'standard-webhooks',
      secrets,
      time: '/at',
      quietSeconds: 0.2,
      quietMostSeconds: 2,
      fields: {
        identityId: 'employee.id',
        email: { column: 'employee.email', onBlank: 'keep' },
        firstName: 'employee.first',
        jobTitle: 'employee.title',
        startedAt: { column: 'employee.start', format: dates },
        separatedAt: 'employee.left',
      },
      action: { column: 'type', join: ['hired'], change: ['updated'], leave: ['terminated'] },
    }
    await connect(work, { baseUrl, connections: { acme: { webhook } } })
  }
  await configure()
  return {
    work,
    configure,
    people: () => peopleOn(tenant.client),
    keys: async () => [...(await peopleOn(tenant.client)).keys()].toSorted(),
    [Symbol.asyncDispose]: () => work[Symbol.asyncDispose](),
  }
}

/** Sends an event as its sender does. */
const send = (daemon: Served, body: string, id?: string) =>
  post(daemon, body, signedAs(body, { secret, ...(id !== undefined && { id }) }))

/** What a daemon has said, once it was stopped. */
async function logOf(daemon: Served): Promise<string> {
  daemon.child.kill('SIGTERM')
  const { stdout, stderr } = await daemon.ended
  return stdout + stderr
}

describe('a daemon that receives events', () => {
  test('delivers signed events and refuses the rest, despite slow senders; no log names anybody', async () => {
    await using workplace = await openWebhookWorkplace()
    await using daemon = await serve(workplace.work)
    using _senders = await dawdle(daemon, 60)
    const ida = hired('E1', { first: 'Ottoline', email: 'ottoline@acme.example' })
    const max = hired('E2', { first: 'Maximilienne' })
    const sent = signedAs(ida, { secret, id: 'msg_1' })

    const first = await post(daemon, ida, sent)
    const replayed = await post(daemon, ida, sent)
    const turnedAway = [
      await post(daemon, max, {}),
      await post(daemon, max, sent),
      await post(daemon, max, signedAs(max, { secret: `whsec_${Buffer.alloc(24).toString('base64')}` })),
      await post(daemon, max, signedAs(max, { secret, at: new Date(Date.now() - 600_000) })),
      await post(daemon, max, signedAs(max, { secret, at: new Date(Date.now() + 600_000) })),
    ]
    await expect.poll(workplace.keys, patience).toEqual(['E1'])
    const sample = await workplace.work.run('webhook', 'test', 'acme')
    const second = await send(daemon, event('terminated', { id: 'E1', left: '2026-11-18' }))
    await expect
      .poll(async () => (await workplace.people()).get('E1')?.separatedAt, patience)
      .toBe('2026-11-18T00:00:00.000Z')
    const listed = await workplace.work.json<{ events: { state: string }[] }>('events')
    const log = await logOf(daemon)

    expect([first, replayed, second]).toMatchObject([
      { status: 200, body: { received: 'msg_1' } },
      { status: 200, body: { received: 'msg_1', duplicate: true } },
      { status: 200 },
    ])
    expect(turnedAway.map(({ status }) => status)).toEqual([401, 401, 401, 401, 401])
    expect(sample).toMatchObject({ exit: 0 })
    expect(await workplace.keys()).toEqual(['E1'])
    expect(listed.document.events).toHaveLength(3)
    const all = [log, sample.stdout, sample.stderr, JSON.stringify(listed.document)].join('\n')
    for (const personal of ['Ottoline', 'ottoline', 'Maximilienne', secret, secret.slice(6)])
      expect(all).not.toContain(personal)
  })

  test('loses no acknowledged event if it is killed right after its answer', async () => {
    await using workplace = await openWebhookWorkplace()
    await using daemon = await serve(workplace.work)
    const bodies = Array.from({ length: count }, (_, i) => hiredOn(i, `E${i}`))

    const answers = await Promise.all(bodies.map((body) => send(daemon, body)))
    daemon.child.kill('SIGKILL')
    await daemon.ended
    const before = (await workplace.keys()).length
    await using _again = await serve(workplace.work)

    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    expect(before).toBeLessThan(count)
    await expect.poll(async () => (await workplace.keys()).length, patience).toBe(count)
  })

  test('keeps an unreadable event until the configuration is fixed', async () => {
    await using workplace = await openWebhookWorkplace()
    const { work } = workplace
    const daemon = await serve(work)
    await send(daemon, hired('E1', { first: 'Ottoline', start: '05.01.2026' }), 'msg_dotted')
    await send(daemon, hired('E2', { first: 'Maximilienne' }), 'msg_plain')
    await expect.poll(workplace.keys, patience).toEqual(['E1', 'E2'])
    const undated = (await workplace.people()).get('E1')
    const rejected = await work.json<{ events: { runId: string }[] }>('events', '--state', 'rejected')
    const shown = await work.run('events', '--state', 'rejected')
    const run = await work.run('run', rejected.document.events[0]?.runId ?? '')
    const problems = await work.run('problems')
    const log = await logOf(daemon)

    await workplace.configure({ dates: 'dd.MM.yyyy' })
    await using _mended = await serve(work)
    const retried = await work.run('retry-events')

    const start = async () => (await workplace.people()).get('E1')?.startedAt
    await expect.poll(start, patience).toBe('2026-01-05T00:00:00.000Z')
    expect(undated).toMatchObject({ startedAt: null, firstName: 'Ottoline' })
    expect(rejected.document.events).toMatchObject([{ eventId: 'msg_dotted', state: 'rejected' }])
    expect(shown.stdout).toMatch(/msg_dotted/)
    expect(run.stdout).toMatch(/employee\.start/)
    expect([shown.exit, run.exit, problems.exit, retried.exit]).toEqual([0, 0, 0, 0])
    const remaining = await work.json<{ events: object[] }>('events', '--state', 'rejected')
    expect(remaining.document.events).toEqual([])
    const all = [
      log,
      shown.stdout,
      run.stdout,
      problems.stdout,
      retried.stdout,
      JSON.stringify(rejected.document),
    ].join('\n')
    for (const personal of ['Ottoline', 'Maximilienne']) expect(all).not.toContain(personal)
  })

  test('holds events that would separate many people until a person approves', async () => {
    await using workplace = await openWebhookWorkplace()
    const { work } = workplace
    await using daemon = await serve(work)
    const ids = Array.from({ length: 20 }, (_, i) => `E${String(i).padStart(2, '0')}`)
    await Promise.all(ids.map((key, at) => send(daemon, hiredOn(at, key))))
    await expect.poll(async () => (await workplace.keys()).length, patience).toBe(20)

    await Promise.all(ids.slice(0, 10).map((key) => send(daemon, event('terminated', { id: key, left: '2026-11-18' }))))
    await expect.poll(() => newestRun(work), patience).toMatchObject({ state: 'held' })
    const { id, reason } = await newestRun(work)
    const atHold = await leaversOf(workplace.people)
    const approved = await work.run('approve', id, '--yes', '--by', 'ops')

    expect(reason).toMatch(/10 of 20 people would be separated/)
    expect(atHold).toEqual([])
    expect(approved.exit).toBe(0)
    expect(await leaversOf(workplace.people)).toEqual(ids.slice(0, 10))
  })
})

async function newestRun(work: Awaited<ReturnType<typeof openWorkplace>>) {
  const { document } = await work.json<{ runs: { id: string; state: string; reason: string }[] }>(
    'runs',
    '--limit',
    '1',
  )
  const [newest] = document.runs
  if (!newest) throw new Error('no run yet')
  return newest
}

async function leaversOf(people: () => ReturnType<typeof peopleOn>): Promise<string[]> {
  const all = [...(await people()).values()]
  return all.flatMap(({ identityId, separatedAt }) => (separatedAt ? [identityId] : [])).toSorted()
}
