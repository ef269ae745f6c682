import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DeliveryAction, type DeliveryFailureCode, deliveryFailures } from '../../../src/contract/failures.ts'
import { changeOfEachKind, openStory } from '../../helpers/faults/story.ts'
import { type Trouble, troubles } from '../../helpers/faults/troubles.ts'
import { isFull } from '../../helpers/tier.ts'
import { type Host, startHost } from '../../helpers/world.ts'

type Row = { readonly code: DeliveryFailureCode; readonly name: string; readonly trouble: Trouble }

/** Of each code the first way into it, and those after which the platform has the change. `npm run test:full` has all of them. */
const rows = Object.entries(troubles).flatMap(([code, troublesOfCode]) =>
  troublesOfCode
    .filter(({ name }, index) => isFull || index === 0 || name.includes('after it was applied'))
    .map((trouble): Row => ({ code: code as DeliveryFailureCode, name: trouble.name, trouble })),
)
const secondNight = Date.parse('2026-11-21T03:00:00.000Z')
const batchesOfANight = 2
/** The first retry lies within these. */
const firstRetryMs = 2000

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** The rows of the table of failures after which a delivery does one of these. */
function after(...actions: DeliveryAction[]): readonly Row[] {
  return rows.filter(({ code }) => actions.includes(deliveryFailures[code].action))
}

/** A first night that goes well, and the second one in trouble. */
async function inTrouble({ options, begin }: Trouble) {
  const story = await openStory(host, options)
  await story.night()
  changeOfEachKind(story)
  const end = await begin(story)
  story.proxy.forget()
  const run = await story.night()
  const recover = async (): Promise<void> => {
    if (typeof end === 'function') await end()
    await story.heal()
  }
  return { story, run, recover, [Symbol.asyncDispose]: () => story[Symbol.asyncDispose]() }
}

/** Who is behind is sent once, and a corrected date in two requests. */
function onceEach(identityIds: readonly string[]): Record<string, number> {
  return Object.fromEntries(identityIds.map((id) => [id, id === 'E0005' ? 2 : 1]))
}

/** The trouble is over, and time passes. Returns how often each person was sent. */
async function recovered({ story, run, recover }: Awaited<ReturnType<typeof inTrouble>>) {
  const refused = await story.refused()
  const behind = (await story.differingPeople()).filter((id) => !refused.includes(id))
  await recover()
  const { state } = await story.end(run)
  const timesSent = story.timesSent()
  // The next run tries refused people again.
  if (refused.length > 0) await story.night()
  return { state, behind, timesSent, isWithProblems: refused.length > 0 }
}

describe.each(after('retry'))('$code ($name)', ({ code, trouble }) => {
  test('leaves the batch due, and ends with nobody lost, wrong or sent twice', async () => {
    await using met = await inTrouble(trouble)
    const { story, run } = met
    const batches = (await story.batchesOf(run)).filter(({ last_code }) => last_code === code)
    const sent = story.changes().length
    const astray = await story.unexplainedPeople()

    const { state, behind, timesSent } = await recovered(met)

    // A process that is asked to stop releases its batches; that is not a failure.
    const failed = code !== 'stopped'
    const { waitMs = 0 } = trouble
    expect(run.state).toBe('delivering')
    expect(batches.length).toBeGreaterThan(0)
    for (const batch of batches) {
      const { uncertain } = deliveryFailures[code]
      expect(batch).toMatchObject({ state: 'due', uncertain, failures: failed ? 1 : 0 })
      expect(batch.failing_since).toEqual(failed ? new Date(secondNight) : null)
      expect(batch.due_at.getTime() - secondNight).toBeGreaterThanOrEqual(waitMs)
      expect(batch.due_at.getTime() - secondNight).toBeLessThanOrEqual(failed ? Math.max(waitMs, firstRetryMs) : 0)
    }
    expect(sent).toBeLessThanOrEqual(trouble.requests ?? batchesOfANight)
    expect(astray).toEqual([])
    expect(state).toBe('finished')
    expect(timesSent).toEqual(onceEach(behind))
    expect(await story.findings()).toEqual([])
  })
})

describe.each(after('wait'))('$code ($name)', ({ code, trouble }) => {
  test('postpones the batch as requested and does not count as a failure', async () => {
    await using met = await inTrouble(trouble)
    const { story, run } = met
    const batches = (await story.batchesOf(run)).filter(({ last_code }) => last_code === code)
    const sent = story.changes().length
    const astray = await story.unexplainedPeople()

    const { state, behind, timesSent, isWithProblems } = await recovered(met)

    expect(run.state).toBe('delivering')
    expect(batches.length).toBeGreaterThan(0)
    for (const batch of batches) {
      // A wait without a failure may last forever, so it becomes a problem if it lasts.
      const lasting = ['circuit_open', 'rate_limited', 'connection_unknown']
      const failing_since = lasting.includes(code) ? expect.any(Date) : null
      expect(batch).toMatchObject({ state: 'due', uncertain: false, failures: 0, failing_since })
      if (trouble.waitMs !== undefined) expect(batch.due_at.getTime() - secondNight).toBe(trouble.waitMs)
    }
    expect(sent).toBeLessThanOrEqual(trouble.requests ?? batchesOfANight)
    expect(astray).toEqual([])
    expect(state).toBe(isWithProblems ? 'finished_with_problems' : 'finished')
    expect(timesSent).toEqual(onceEach(behind))
    expect(await story.findings()).toEqual([])
  })
})

describe.each(after('block'))('$code ($name)', ({ code, trouble }) => {
  test('blocks the connection, which is probed with one request every quarter of an hour and unblocked by the first success', async () => {
    await using met = await inTrouble(trouble)
    const { story, run } = met
    const blocked = await story.blocked()
    const sent = story.changes().length
    story.proxy.forget()
    await story.advanceMinutes(14)
    const sentBefore = story.changes().length
    await story.advanceMinutes(2)
    const probed = await story.blocked()
    const probes = story.changes().length
    const astray = await story.unexplainedPeople()

    const { state, behind, timesSent } = await recovered(met)

    expect(run.state).toBe('delivering')
    expect(blocked).toMatchObject({ code, since: '2026-11-21T03:00:00.000Z', probeAt: '2026-11-21T03:15:00.000Z' })
    expect(probed).toMatchObject({ code, since: '2026-11-21T03:00:00.000Z', probeAt: '2026-11-21T03:31:00.000Z' })
    expect([sent, sentBefore, probes]).toEqual(trouble.requests === 0 ? [0, 0, 0] : [1, 0, 1])
    expect(astray).toEqual([])
    expect(state).toBe('finished')
    expect(timesSent).toEqual(onceEach(behind))
    expect(await story.blocked()).toBeNull()
    expect(await story.findings()).toEqual([])
  })
})

describe.each(after('problem', 'split'))('$code ($name)', ({ trouble }) => {
  const { refused = [], timesSentAgain = onceEach(refused) } = trouble

  test('closes everybody in the same night, the refused people as problems that pass the next night', async () => {
    await using met = await inTrouble(trouble)
    const { story, run } = met
    const astray = await story.unexplainedPeople()
    const problems = await story.refused()
    await met.recover()

    const next = await story.night()

    expect(run.state).toBe(refused.length > 0 ? 'finished_with_problems' : 'finished')
    expect(problems).toEqual(refused)
    expect(astray).toEqual([])
    expect(next.state).toBe(refused.length > 0 ? 'finished' : 'unchanged')
    expect(story.timesSent()).toEqual(timesSentAgain)
    expect(await story.findings()).toEqual([])
  })
})

test.each(after('read_back'))(
  '$code ($name): everybody in the batch is looked up, and closed in the same night',
  async ({ trouble }) => {
    await using met = await inTrouble(trouble)
    const { story, run } = met
    const read = story.proxy.requests.filter(({ operation }) => operation === 'getHrisUserIdentity')

    expect(run.state).toBe('finished')
    expect(read.flatMap(({ identityIds }) => identityIds)).toEqual(['E0002', 'J0001'])
    expect(await story.findings()).toEqual([])
  },
)

test.each(after('correct', 'upsert'))('$code ($name) is resolved in the same night', async ({ trouble }) => {
  await using met = await inTrouble(trouble)
  const { story, run } = met

  expect(run.state).toBe('finished')
  expect(await story.findings()).toEqual([])
})
