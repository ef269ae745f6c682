import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import { Guards } from '../../src/identity/guards/limits.ts'
import { Mapping } from '../../src/identity/mapping/mapping.ts'
import { listRuns, type Run } from '../../src/store/runs/runs.ts'
import { approveRun, requestDueRuns, requestRun } from '../../src/sync/sync.ts'
import { type HrEvent, later, receive, terminated, webhookFeed } from '../helpers/events.ts'
import {
  createHrWithEvents,
  type Day,
  day,
  type EmploymentEvent,
  type Row,
  type Rules,
  rules,
} from '../helpers/model/tellings.ts'
import { seed } from '../helpers/seed.ts'
import { differencesStated, recountStatement, statementsOf } from '../helpers/statements.ts'
import { isFull } from '../helpers/tier.ts'
import { reportTrials } from '../helpers/trials.ts'
import { type Host, headers, openWorld, peopleOn, startHost, type World } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const firstDay = Temporal.PlainDate.from('2026-11-20')
const days = isFull ? 40 : 15
const quiet: Day = { actions: [], exports: true, renames: false }

function mappingOf({ means, announcedBy }: Rules): Mapping {
  return Mapping.parse({
    fields: {
      identityId: 'Worker ID',
      email: 'Email',
      firstName: 'First Name',
      jobTitle: 'Job Title',
      startedAt: { column: 'Start Date' },
      separatedAt: { column: 'Leaving Date', means },
    },
    status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
    scope: '(`Job Title` != "Board")',
    ...(announcedBy === 'row' && { severalRows: { latest: { column: 'Effective Date', format: 'yyyy-MM-dd' } } }),
  })
}

/** Only address changes are held, and departures of such plans proceed. */
const limits = ['leavers', 'joiners', 'returns', 'redates', 'fieldChanges', 'blanks', 'rejectedRows', 'shrink'] as const
const wide = { count: 1000, share: 1 }
const narrow = { count: 3, share: 0.1 }

test('leavers follow from what HR stated, whatever is silent, late, early or withdrawn', {
  timeout: isFull ? 900_000 : 240_000,
}, async ({ task }) => {
  const total = { recounts: 0, nights: 0, departures: 0, held: 0, late: 0 }
  await fc.assert(
    fc.asyncProperty(rules, fc.array(day, { minLength: days, maxLength: days }), async (ruled, story) => {
      await using opened = await openWorldOf(ruled)
      const { world, client, gone, onPlatform } = opened
      const hr = createHrWithEvents(ruled)
      const arriving = new Map<string, EmploymentEvent[]>()
      for (const [at, { actions: deeds, exports, renames }] of [quiet, ...story].entries()) {
        const today = firstDay.add({ days: at }).toString()
        hr.dawn(today)
        if (ruled.daemon) await dayBegins(world, today)
        const run = await night(world, today, exports ? hr.export({ today, renames }) : null)
        if (exports) hr.accept(today)
        if (run.state === 'held') {
          total.held += 1
          const departed = await gone(today)
          const missed = hr.gone(today).filter((id) => !departed.includes(id))
          expect({ today, missed, by: failed(run) }).toEqual({ today, missed: [], by: ['emailChanges'] })
        }
        await approveAll(world)
        expect({ today, atNight: await gone(today) }).toEqual({ today, atNight: hr.gone(today) })

        for (const action of deeds) {
          const sent = hr.happen(action, today)
          if (sent) arriving.set(sent.arrives, [...(arriving.get(sent.arrives) ?? []), sent.event])
        }
        const arrived = arriving.get(today) ?? []
        for (const event of arrived) hr.hear(event)
        total.late += arrived.filter((event) => !event.at.startsWith(today)).length
        world.clock.now = new Date(`${today}T10:01:00.000Z`)
        await receive(world, ...arrived.map(eventOf))
        await later(world, 6)
        expect({ today, byDay: await gone(today) }).toEqual({ today, byDay: hr.gone(today) })
        expect({ today, differences: await differencesStated(world) }).toEqual({ today, differences: [] })
        const { platform, rows } = (await statementsOf(world)).at(-1) ?? {}
        expect([platform?.records, rows?.delivered]).toEqual([await onPlatform(), world.source.rows.length])
        const recount = await recountStatement(world, { client, isExportAccepted: true })
        expect({ today, recounted: recount.differences }).toEqual({ today, recounted: [] })
        total.recounts += recount.records === null ? 0 : 1
        total.nights += 1
      }
      total.departures += hr.gone(firstDay.add({ days }).toString()).length
    }),
    { numRuns: isFull ? 16 : 1, seed, endOnFailure: true },
  )
  const { nights, departures, held, late, recounts } = total
  expect(recounts).toBeGreaterThan(0)
  reportTrials(task, {
    subject: 'departures in every form',
    times: `${nights} nights with ${departures} departures at their ends`,
    result: `each as HR said, with ${recounts} statements recounted; ${late} events came late, ${held} plans were held while departures went on`,
  })
})

async function openWorldOf(ruled: Rules) {
  const { client } = await host.tenant()
  const { graceRuns, outOfScope, future } = ruled
  const world = await openWorld({
    client,
    webhook: webhookFeed(),
    feed: { mapping: mappingOf(ruled), graceRuns, outOfScope, future },
    connection: {
      guards: Guards.parse({
        ...Object.fromEntries(limits.map((name) => [name, wide])),
        emailChanges: narrow,
        unusual: { enabled: false },
      }),
      onHold: { send: ['leave'] },
    },
  })
  world.source.headers = [...headers, 'Effective Date']
  /** Whom the platform has as gone on a day. */
  const gone = async (today: string) =>
    [...(await peopleOn(client))]
      .flatMap(([id, { separatedAt }]) => (separatedAt && separatedAt.slice(0, 10) <= today ? [id] : []))
      .toSorted()
  const onPlatform = async () => (await peopleOn(client)).size
  return { world, client, gone, onPlatform, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

/** A run that a person asks for at 03:00, of an export of 01:00. Null: there is none. */
async function night(world: World, today: string, rows: readonly Row[] | null): Promise<Run> {
  world.clock.now = new Date(`${today}T03:00:00.000Z`)
  const connector = world.connection.feeds.source?.connector
  if (!connector) throw new Error('a world without a source')
  const { open } = connector
  if (rows === null) {
    const missing = async () => {
      throw new Failure('source_unreadable', 'no export has come')
    }
    Object.assign(connector, { open: missing })
  } else {
    world.setExport(rows, `${today}T01:00:00.000Z`)
    world.source.rows = world.source.rows.map((row, at) => ({
      ...row,
      values: [...row.values, rows[at]?.from ?? '2020-01-06'],
    }))
  }
  const { id } = await requestRun(world.sync, { connection: 'acme', trigger: 'operator' })
  await world.drain()
  Object.assign(connector, { open })
  return await world.runOf(id)
}

function failed({ guards }: Run): string[] {
  return (guards ?? []).flatMap(({ ok, name }) => (ok ? [] : [name]))
}

async function approveAll(world: World): Promise<void> {
  const runs = await listRuns(world.sync.store.db, { connection: 'acme', limit: 20 })
  for (const { id, digest, state } of runs) {
    if (state === 'held') await approveRun(world.sync, { runId: id, digest: digest ?? '', by: 'ana' })
  }
  await world.drain()
}

async function dayBegins(world: World, today: string): Promise<void> {
  world.clock.now = new Date(`${today}T00:00:30.000Z`)
  await requestDueRuns(world.sync)
  await world.drain()
}

function eventOf({ id, at, leavingDate: left }: EmploymentEvent): HrEvent {
  return left === null ? { type: 'hired', at, employee: { id } } : terminated(id, left, at)
}
