import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { CrashDaemon } from '../helpers/crash/crashes.ts'
import { openStory, type Story, sizes } from '../helpers/crash/story.ts'
import { createDice, type Dice } from '../helpers/dice.ts'
import { isFull } from '../helpers/tier.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

const redisDatabase = 7

/**
 * Steps of a night at which the daemon dies, by the event that it tells there; see `crash-daemon.ts`. The small form leaves out those
 * at which nothing is under way, and of a first and a later request the first.
 */
const steps = [
  { when: 'it has read the export', step: 'run.read' },
  { when: 'the plan is stored', step: 'run.prepared' },
  { when: 'the plan is accepted', step: 'run.committed' },
  { when: 'the jobs are enqueued', step: 'deliveries.enqueued' },
  { when: 'the first request is about to go out', step: 'request.begun' },
  { when: 'a later request is about to go out', step: 'request.begun', nth: 4 },
  { when: 'the first answer has come', step: 'request.ended' },
  { when: 'a later answer has come', step: 'request.ended', nth: 4 },
  { when: 'dates are about to be cleared for a correction', step: 'step.stored:clearing' },
  { when: 'the outcome of the first batch is being settled', step: 'outcomes.recorded' },
  { when: 'the outcome of a later batch is being settled', step: 'outcomes.recorded', nth: 4 },
  { when: 'a batch is settled', step: 'delivery.sent' },
  { when: 'the run is finished', step: 'run.finished' },
] as const
const testedSteps = steps.filter(
  ({ when }) => isFull || !/has read|the first (request|answer|batch)|is settled|is finished/.test(when),
)

/** Requests that the platform applies and whose answer the daemon never sees. */
const operations = ['updateHrisUserIdentity', 'upsertHrisUserIdentities'] as const

/** Steps of a plan that is held for a status, with what is done to come there. */
const decisions: readonly { when: string; step: string; act: (story: Story, daemon: CrashDaemon) => Promise<void> }[] =
  [
    { when: 'the plan is held', step: 'run.held', act: (story, daemon) => story.requestRun(daemon) },
    { when: 'a status is classed', step: 'value.classified', act: (story, daemon) => story.classifyStatuses(daemon) },
    { when: 'a held plan is approved', step: 'run.approved', act: (story, daemon) => story.approve(daemon) },
  ]

/** Steps from the decision of an operator to the first request that carries it out. */
const departureSteps = [
  { when: 'it is stated', step: 'departure.stated' },
  { when: 'its plan is stored', step: 'run.prepared' },
  { when: 'its plan is accepted', step: 'run.committed' },
  { when: 'its job is enqueued', step: 'deliveries.enqueued' },
  { when: 'its request is about to go out', step: 'request.begun' },
] as const

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** The small form dies with PostgreSQL and Redis, where a job and its batch are in two places; crash-random has the embedded database. */
const tested = isFull ? sizes(redisDatabase) : sizes(redisDatabase).slice(-1)

describe.each(tested)('a daemon that is killed, $name', (size) => {
  let story: Story
  let daemon: CrashDaemon
  let dice: Dice
  beforeAll(async () => {
    dice = createDice(size.name)
    story = await openStory(host, size)
    daemon = await story.daemon()
    await story.night(dice)
    await story.requestRun(daemon)
    await daemon.atRest()
  })
  afterAll(() => story[Symbol.asyncDispose]())

  test.each(testedSteps)('when $when loses nobody', async ({ step, ...rest }) => {
    await story.night(dice)
    await daemon.dieAt(step, 'nth' in rest ? rest.nth : 1)

    const [end] = await Promise.all([daemon.ended, story.requestRun(daemon)])
    daemon = await story.daemon()
    await daemon.atRest()

    expect(end).toBe('SIGKILL')
    expect(await outcomeOf(story, daemon)).toEqual(allWell)
  })

  test.each(isFull ? operations : operations.slice(-1))(
    'when the platform has applied a request of %s and not answered loses nobody',
    async (operation) => {
      const applied = story.proxy.hold((request) => request.operation === operation)

      // Not every night has a batch that is small enough for requests person by person.
      let held: Awaited<typeof applied> | null = null
      while (held === null) {
        await story.night(dice)
        await story.requestRun(daemon)
        held = await Promise.race([applied, daemon.atRest().then(() => null)])
      }
      const end = await daemon.kill()
      held.release()
      daemon = await story.daemon()
      await daemon.atRest()

      expect(end).toBe('SIGKILL')
      expect(await outcomeOf(story, daemon)).toEqual(allWell)
    },
  )

  test.each(isFull ? decisions : decisions.slice(1, 2))('when $when loses nobody', async ({ step, act }) => {
    await story.night(dice, { unlisted: true })
    await story.requestRun(daemon)
    await daemon.atRest()
    const held = await outcomeOf(story, daemon)
    await daemon.dieAt(step)

    const [end] = await Promise.all([daemon.ended, act(story, daemon)])
    daemon = await story.daemon()
    await daemon.atRest()
    const between = await story.findings(daemon)
    await story.classifyStatuses(daemon)
    await story.requestRun(daemon)
    await daemon.atRest()

    expect(held).toEqual({ heldFor: ['unlistedValues'], findings: [] })
    expect({ end, between }).toEqual({ end: 'SIGKILL', between: [] })
    expect(await outcomeOf(story, daemon)).toEqual(allWell)
  })

  test('when a part of a held plan is approved delivers the part and holds everybody else', async () => {
    await story.night(dice, { unlisted: true })
    await story.requestRun(daemon)
    await daemon.atRest()
    const planned = await plansOf(daemon)
    await daemon.dieAt('run.approved')

    const [end] = await Promise.all([daemon.ended, story.approvePart(daemon)])
    daemon = await story.daemon()
    await daemon.atRest()
    const between = await plansOf(daemon)
    await story.classifyStatuses(daemon)
    await story.requestRun(daemon)
    await daemon.atRest()
    const next = await outcomeOf(story, daemon)
    // Whom the approval of the part left out stays held until somebody approves them.
    await story.approve(daemon)
    await daemon.atRest()

    expect(end).toBe('SIGKILL')
    expect(next.heldFor).toEqual(['leftUnapproved'])
    expect(between.held.length).toBe(planned.held.length - 2)
    expect(between.part).toHaveLength(2)
    expect([...between.part, ...between.held].sort()).toEqual(planned.held.toSorted())
    expect(await outcomeOf(story, daemon)).toEqual(allWell)
  })

  test.each(isFull ? departureSteps : departureSteps.slice(-1))(
    'when $when, a departure that only an operator states, sends it exactly once',
    async ({ step }) => {
      const person = story.hr
        .rows()
        .find(({ id, start, leavingDate }) => start?.startsWith('2020') && !leavingDate && !story.faults.has(id))
      const departure = {
        identityId: person?.id ?? '',
        on: Temporal.Now.plainDateISO('UTC').subtract({ days: 1 }).toString(),
      }
      const dateOnPlatform = async () => (await datesOnPlatform(story)).get(departure.identityId)?.slice(0, 10)
      story.proxy.forget()
      await daemon.dieAt(step)

      const [end] = await Promise.all([daemon.ended, story.stateDeparture(daemon, departure)])
      const before = await dateOnPlatform()
      daemon = await story.daemon()
      await daemon.atRest()
      const [after, sent] = [await dateOnPlatform(), writesAbout(story, departure.identityId)]
      story.hr.leave(departure.identityId, '2021-01-15')
      await story.writeExport()
      await story.requestRun(daemon)
      await daemon.atRest()

      expect({ end, before, after, sent }).toEqual({ end: 'SIGKILL', before: undefined, after: departure.on, sent: 1 })
      expect(await outcomeOf(story, daemon)).toEqual(allWell)
    },
  )

  test('after it has read a departure that HR withdraws before the next start separates nobody', async () => {
    const person = story.hr.rows().find(({ id, leavingDate }) => !leavingDate && !story.faults.has(id))
    await daemon.dieAt('run.read')
    story.hr.leave(person?.id ?? '', '2021-01-15')
    await story.writeExport()

    const [end] = await Promise.all([daemon.ended, story.requestRun(daemon)])
    story.hr.comeBack(person?.id ?? '', person?.start ?? '')
    await story.writeExport()
    daemon = await story.daemon()
    await daemon.atRest()

    expect(end).toBe('SIGKILL')
    expect(await outcomeOf(story, daemon)).toEqual(allWell)
  })

  test('between the two requests of a correction loses no date', async () => {
    const before = await datesOnPlatform(story)
    await story.night(dice)
    await daemon.dieAt('step.stored:cleared')

    const [end] = await Promise.all([daemon.ended, story.requestRun(daemon)])
    const between = await datesOnPlatform(story)
    daemon = await story.daemon()
    await daemon.atRest()

    const desired = datesOf(story.expected())
    const cleared = [...desired].filter(([id, date]) => date && before.get(id) && between.get(id) === null)
    expect(end).toBe('SIGKILL')
    expect(cleared.length).toBeGreaterThan(0)
    expect(await datesOnPlatform(story)).toEqual(desired)
    expect(await outcomeOf(story, daemon)).toEqual(allWell)
  })

  test('has accounted for everything at the end', async () => {
    const end = await daemon.kill('SIGTERM')

    const findings = await story.account()

    expect(end).toBe(0)
    expect(findings).toEqual([])
  })
})

const allWell = { heldFor: [], findings: [] }

/** The keys in the plan that is held, and in the delivered part of it. */
async function plansOf(daemon: CrashDaemon): Promise<{ readonly held: string[]; readonly part: string[] }> {
  const control = await daemon.control()
  const { data } = await control.listRuns({ query: { limit: 1000 } })
  const held = data.find(({ state }) => state === 'held')
  const part = data.find(({ state, partOf }) => state.startsWith('finished') && partOf !== null && partOf === held?.id)
  const keysOf = async (runId: string | undefined): Promise<string[]> => {
    if (runId === undefined) return []
    const changes = await control.listChanges({ params: { runId }, query: { limit: 1000, values: false } })
    return changes.data.map(({ identityId }) => identityId)
  }
  return { held: await keysOf(held?.id), part: await keysOf(part?.id) }
}

/** How many requests of the daemon that change the platform name the person. */
function writesAbout({ proxy }: Story, identityId: string): number {
  const writes: readonly (string | null)[] = operations
  return proxy.requests.filter(
    ({ operation, identityIds }) => writes.includes(operation) && identityIds.includes(identityId),
  ).length
}

async function outcomeOf(story: Story, daemon: CrashDaemon) {
  return { heldFor: await story.heldFor(daemon), findings: await story.findings(daemon) }
}

/** Of everybody who is expected on the platform in one state. */
async function datesOnPlatform({ client, expected }: Story): Promise<Map<string, string | null>> {
  const desired = expected()
  return datesOf(new Map([...(await peopleOn(client))].filter(([id]) => desired.has(id))))
}

function datesOf(people: ReadonlyMap<string, { readonly separatedAt: string | null }>): Map<string, string | null> {
  return new Map([...people].map(([id, { separatedAt }]) => [id, separatedAt]))
}
