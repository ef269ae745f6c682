import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listProblems } from '../../src/store/deliveries/problems.ts'
import { stagedChanges } from '../../src/store/plans/plans.ts'
import { listUnserved } from '../../src/store/rejects/unserved.ts'
import { listRuns, type Run } from '../../src/store/runs/runs.ts'
import { approveRun, classValue, requestDueRuns } from '../../src/sync/sync.ts'
import { later, receive, terminated, webhookFeed } from '../helpers/events.ts'
import { type Day, day, untidyHr } from '../helpers/model/untidy.ts'
import { isFull } from '../helpers/tier.ts'
import { type Host, openWorld, peopleOn, startHost, type World } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const nights = isFull ? 120 : 45
const firstNight = Temporal.PlainDate.from('2026-11-20')

type Account = { nights: number; departures: number; longest: number; holds: Map<string, number> }

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

/** Everybody who is named to a person tonight: in the problems, among those who are not served, or by a plan that is held. */
async function named(world: World): Promise<Set<string>> {
  const { db } = world.sync.store
  const { now } = world.clock
  const keys = new Set<string>()
  for (const { identityId } of await listProblems(db, { now })) keys.add(identityId)
  for (const { identityId } of await listUnserved(db, { now })) if (identityId !== null) keys.add(identityId)
  for (const { id } of await heldRuns(world)) {
    for await (const some of stagedChanges(db, id)) for (const { change } of some) keys.add(change.identityId)
  }
  return keys
}

/** Somebody classes what is unlisted and approves what is held, until nothing is. */
async function decideAll(world: World, unlisted: readonly string[]): Promise<void> {
  for (const value of unlisted) {
    await classValue(world.sync, { connection: 'acme', value, meaning: 'employed', by: 'ops' })
  }
  for (let held = await heldRuns(world); held.length > 0; held = await heldRuns(world)) {
    for (const { id, digest } of held) {
      const run = await world.runOf(id)
      if (run.state === 'held') await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ops' })
      await world.drain()
    }
  }
}

test('every departure that HR expressed is on the platform, in the problems, or behind a hold that names it, night after night', async () => {
  const total: Account = { nights: 0, departures: 0, longest: 0, holds: new Map() }
  await fc.assert(
    fc.asyncProperty(fc.array(day, { minLength: nights, maxLength: nights }), async (days) => {
      const { client } = await host.tenant()
      await using world = await openWorld({ client, webhook: webhookFeed() })
      const hr = untidyHr()
      await world.night(hr.rows())
      const firstSeen = new Map<string, number>()
      const separated = async () =>
        new Map(
          [...(await peopleOn(client))].flatMap(([key, { separatedAt }]) => (separatedAt ? [[key, separatedAt]] : [])),
        )

      for (const [at, { happens, exports, awake }] of [...days, ...ending].entries()) {
        const date = firstNight.add({ days: at + 1 }).toString()
        world.clock.now = new Date(`${date}T00:30:00.000Z`)
        if (at >= days.length) hr.mendAll()
        for (const one of happens) {
          const event = hr.happen(one, date)
          if (event) await receive(world, terminated(event.id, event.left, world.clock.now.toISOString()))
        }
        await requestDueRuns(world.sync)
        await world.drain()
        await later(world, 6)
        world.clock.now = new Date(`${date}T03:00:00.000Z`)
        const before = await causesOf(world)
        if (exports) {
          await world.night(hr.rows(), { asOf: `${date}T01:00:00.000Z` })
          for (const key of hr.gone(date)) if (!firstSeen.has(key)) firstSeen.set(key, at)
        }
        for (const cause of (await causesOf(world)).difference(before)) {
          total.holds.set(cause, (total.holds.get(cause) ?? 0) + 1)
        }

        const [onPlatform, known] = [await separated(), await named(world)]
        const lost = [...firstSeen.keys()].filter((key) => !onPlatform.has(key) && !known.has(key))
        expect({ date, lost }).toEqual({ date, lost: [] })
        const gone = new Set(hr.gone(date))
        expect({ date, mistaken: [...onPlatform.keys()].filter((key) => !gone.has(key)) }).toEqual({
          date,
          mistaken: [],
        })

        if (awake) await decideAll(world, hr.unlisted())
        const after = await separated()
        for (const [key, since] of firstSeen) if (after.has(key)) note(total, key, since, at)
        total.nights += 1
      }
      const last = firstNight.add({ days: days.length + ending.length }).toString()
      expect([...(await separated()).keys()].toSorted()).toEqual(hr.gone(last).toSorted())
      expect([...(await named(world))]).toEqual([])
      seen.clear()
    }),
    { numRuns: isFull ? 8 : 2, endOnFailure: true },
  )
  const holds = [...total.holds].map(([name, count]) => `${name} ${count}`).join(', ')
  process.stderr.write(
    `departures: ${total.departures} in ${total.nights} nights, the longest delay ${total.longest} nights; holds by cause: ${holds}\n`,
  )
})

/** Two nights in which everything is mended and somebody is awake. */
const ending: readonly Day[] = [
  { happens: [], exports: true, awake: true },
  { happens: [], exports: true, awake: true },
]

const seen = new Set<string>()

function note(total: Account, key: string, since: number, at: number): void {
  if (seen.has(key)) return
  seen.add(key)
  total.departures += 1
  total.longest = Math.max(total.longest, at - since)
}
