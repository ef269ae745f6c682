import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listProblems } from '../../src/store/deliveries/problems.ts'
import { listLeavers } from '../../src/store/leavers/list.ts'
import { stagedChanges } from '../../src/store/plans/plans.ts'
import { listBlockedPeople } from '../../src/store/rejects/blocked-people.ts'
import { listRuns, type Run } from '../../src/store/runs/runs.ts'
import { approveRun, classifyValue, requestDueRuns, restorePerson, retractPerson } from '../../src/sync/sync.ts'
import { later, receive, terminated, webhookFeed } from '../helpers/events.ts'
import { type Act, type Day, day, untidyHr } from '../helpers/model/untidy.ts'
import { seed } from '../helpers/seed.ts'
import { isFull } from '../helpers/tier.ts'
import { reportTrials } from '../helpers/trials.ts'
import { type Host, openWorld, peopleOn, startHost, type World } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const nightsPlayed = isFull ? 120 : 30
type People = Awaited<ReturnType<typeof peopleOn>>

const firstNight = Temporal.PlainDate.from('2026-11-20')

type Account = {
  nights: number
  departures: number
  /** Nights from the first evidence to the acknowledgement, of the departure that took longest. */
  longest: number
  holds: Map<string, number>
  /** Exports that brought something for which a guard may hold. */
  news: Map<string, number>
}

/** The runs that wait for a person. */
async function heldRuns(world: World): Promise<Run[]> {
  const runs = await listRuns(world.sync.store.db, { connection: 'acme', limit: 200 })
  return runs.filter(({ state }) => state === 'held')
}

/** The guards for which something waits. */
async function causesOf(world: World): Promise<Set<string>> {
  const verdicts = (await heldRuns(world)).flatMap(({ guards }) => guards ?? [])
  return new Set(verdicts.flatMap(({ name, ok }) => (ok ? [] : [name])))
}

/** Everybody who is named to a person tonight: in the problems, among those who are blocked, or by a plan that is held. */
async function named(world: World): Promise<Set<string>> {
  const { db } = world.sync.store
  const { now } = world.clock
  const keys = new Set<string>()
  for (const { identityId } of await listProblems(db, { now })) keys.add(identityId)
  for (const { identityId } of await listBlockedPeople(db, { now })) if (identityId !== null) keys.add(identityId)
  for (const { id } of await heldRuns(world)) {
    for await (const page of stagedChanges(db, id)) for (const { change } of page) keys.add(change.identityId)
  }
  return keys
}

/** Somebody classes what is unlisted and approves what is held, until nothing is. */
async function decideAll(world: World, unlisted: readonly string[]): Promise<void> {
  for (const value of unlisted) {
    await classifyValue(world.sync, { connection: 'acme', value, meaning: 'employed', by: 'ops' })
  }
  for (let held = await heldRuns(world); held.length > 0; held = await heldRuns(world)) {
    for (const { id } of held) await approve(world, id)
  }
}

async function approve(world: World, runId: string): Promise<void> {
  const { state, digest } = await world.runOf(runId)
  if (state === 'held') await approveRun(world.sync, { runId, digest: digest ?? '', by: 'ops' })
  await world.drain()
}

/** Does what is to be done besides the export. */
async function perform(world: World, act: Act): Promise<void> {
  const person = { connection: 'acme', identityId: act.id, by: 'ops' }
  switch (act.kind) {
    case 'event':
      return await receive(world, terminated(act.id, act.leavingDate, world.clock.now.toISOString()))
    case 'retract': {
      const { id } = await retractPerson(world.sync, { ...person, reason: 'sent in error' })
      return await approve(world, id)
    }
    case 'restore':
      await restorePerson(world.sync, person)
      await world.drain()
      return
    default:
      return act satisfies never
  }
}

test('every departure that HR expressed is on the platform, in the problems, or behind a hold that names it, night after night', {
  timeout: isFull ? 1_800_000 : 300_000,
}, async ({ task }) => {
  const total: Account = {
    nights: 0,
    departures: 0,
    longest: 0,
    holds: new Map(),
    news: new Map(),
  }
  await fc.assert(
    fc.asyncProperty(fc.array(day, { minLength: nightsPlayed, maxLength: nightsPlayed }), async (days) => {
      const { client } = await host.tenant()
      await using world = await openWorld({ client, webhook: webhookFeed() })
      const hr = untidyHr()
      await world.night(hr.takeExport().rows)
      /** By key, the night of the first evidence of a departure that the platform has not acknowledged; null: it has. */
      const firstSeen = new Map<string, number | null>()

      for (const [at, { happens, exports, awake }] of [...days, ...ending].entries()) {
        const date = firstNight.add({ days: at + 1 }).toString()
        world.clock.now = new Date(`${date}T00:30:00.000Z`)
        if (at >= days.length) hr.mendAll()
        await requestDueRuns(world.sync)
        await world.drain()
        for (const one of happens) {
          const act = hr.happen(one, date)
          if (act) await perform(world, act)
        }
        await later(world, 6)
        world.clock.now = new Date(`${date}T03:00:00.000Z`)
        const before = await causesOf(world)
        const report = exports ? hr.takeExport() : null
        const run = report && (await world.night(report.rows, { asOf: `${date}T01:00:00.000Z` }))
        const causes = await causesOf(world)
        for (const cause of causes.difference(before)) count(total.holds, cause)
        if (report && report.newFaults > 0) count(total.news, 'rejectedRows')
        if (report && report.newStatuses > 0) count(total.news, 'unlistedValues')
        if (run?.state === 'held') expect({ date, ...heldForNothing(run, report) }).toEqual({ date, ...noHold })
        else if (run) hr.accepted()

        const [platform, known] = [await peopleOn(client), await named(world)]
        const gone = new Set(hr.gone(date))
        for (const key of firstSeen.keys()) if (!gone.has(key)) firstSeen.delete(key)
        for (const key of gone) if (!firstSeen.has(key)) firstSeen.set(key, at)
        expect({ date, ...findings(hr, { platform, known, gone }) }).toEqual({ date, ...noFindings })
        expect({ date, clocks: await acknowledgedDays(world) }).toEqual({ date, clocks: separationDays(platform) })

        if (awake) {
          await decideAll(world, hr.unlisted())
          hr.accepted()
        }
        const after = separated(await peopleOn(client))
        for (const [key, since] of firstSeen) {
          if (since === null || !after.includes(key)) continue
          total.departures += 1
          total.longest = Math.max(total.longest, at - since)
          firstSeen.set(key, null)
        }
        total.nights += 1
      }
      const last = firstNight.add({ days: days.length + ending.length }).toString()
      const platform = await peopleOn(client)
      expect(separated(platform).toSorted()).toEqual(hr.gone(last).toSorted())
      expect([...platform.keys()].toSorted()).toEqual(hr.everybody().filter((key) => !hr.retracted().includes(key)))
      expect([...(await named(world))].toSorted()).toEqual(hr.contradicted(last).toSorted())
    }),
    { numRuns: isFull ? 8 : 1, seed, endOnFailure: true },
  )
  reportTrials(task, { subject: 'departures over months', ...summaryOf(total) })
})

/** Two nights in which everything is fixed and operators respond. */
const ending: readonly Day[] = [
  { happens: [], exports: true, awake: true },
  { happens: [], exports: true, awake: true },
]

const noFindings = { lost: [], mistaken: [], missing: [], withheld: [] }
const noHold = { rejectedRows: false, unlistedValues: false }

/** The mistakes on the platform after a night, by key. */
function findings(
  hr: ReturnType<typeof untidyHr>,
  { platform, known, gone }: { platform: People; known: ReadonlySet<string>; gone: ReadonlySet<string> },
): typeof noFindings | Record<keyof typeof noFindings, string[]> {
  const [separatedKeys, stayed, retracted] = [
    new Set(separated(platform)),
    new Set(hr.stayed()),
    new Set(hr.retracted()),
  ]
  return {
    lost: [...gone].filter((key) => !separatedKeys.has(key) && !known.has(key)),
    // A person who is employed again may wait for a fault of the row or the plan, if it is reported.
    mistaken: [...separatedKeys].filter((key) => !gone.has(key) && (stayed.has(key) || !known.has(key))),
    missing: hr.everybody().filter((key) => !platform.has(key) && !retracted.has(key) && !known.has(key)),
    withheld: [...retracted].filter((key) => platform.has(key)),
  }
}

/** The guards that hold an export for known faults, without anything new. */
function heldForNothing(
  { guards }: Run,
  report: Pick<ReturnType<ReturnType<typeof untidyHr>['takeExport']>, 'newFaults' | 'newStatuses'> | null,
): typeof noHold {
  const holds = (cause: string) => guards?.some(({ name, ok }) => name === cause && !ok) ?? false
  return {
    rejectedRows: holds('rejectedRows') && report?.newFaults === 0,
    unlistedValues: holds('unlistedValues') && report?.newStatuses === 0,
  }
}

function separated(platform: People): string[] {
  return [...platform].flatMap(([key, { separatedAt }]) => (separatedAt ? [key] : []))
}

/** The last days by key, in the order of the keys: as the platform has them, and as the clocks of leavers say that it has. */
function separationDays(platform: People): string[] {
  return [...platform]
    .flatMap(([key, { separatedAt }]) => (separatedAt ? [`${key} ${separatedAt.slice(0, 10)}`] : []))
    .toSorted()
}

async function acknowledgedDays(world: World): Promise<string[]> {
  const period = { connections: ['acme'], from: '0001-01-01', to: '9999-12-31', now: world.clock.now }
  const leavers = await listLeavers(world.sync.store.db, period)
  return leavers
    .filter(({ acknowledgedAt, endedAt }) => acknowledgedAt !== null && endedAt === null)
    .map(({ identityId, effectiveOn }) => `${identityId} ${effectiveOn}`)
    .toSorted()
}

function count(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

function summaryOf({ nights, departures, longest, holds, news }: Account) {
  const byCause = [...holds].map(([name, number]) => {
    const brought = news.get(name)
    return brought === undefined ? `${name} ${number}` : `${name} ${number} (${brought} nights brought something new)`
  })
  return {
    times: `${departures} departures in ${nights} nights`,
    result: `no one lost; longest delay ${longest} nights; holds by cause: ${byCause.join(', ')}`,
  }
}
