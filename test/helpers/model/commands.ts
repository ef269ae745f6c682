import fc from 'fast-check'
import { byIdentityId, type IdentityUpdate } from '../../../src/contract/platform/hris-user-identities.ts'
import { Failure } from '../../../src/errors.ts'
import type { RunRow } from '../../../src/store/schema.ts'
import type { SyncContext } from '../../../src/sync/context/context.ts'
import { approveRun, cancelRun, rejectRun, requestRun, restorePerson, retractPerson } from '../../../src/sync/sync.ts'
import { receive } from '../events.ts'
import { peopleOn } from '../world.ts'
import { acts, carryOut, describeOptions, names, personIndex, pick } from './acts.ts'
import { faultNames } from './faults.ts'
import { expectedNow, expectNothingUnstated, keyOf, type Model, recordAccepted, takeExport } from './story.ts'
import type { Setup, TestSystem } from './test-system.ts'

export type Command = fc.AsyncCommand<Model, TestSystem>

const minuteMs = 60_000
/** What somebody else does to a person on the platform. */
const tamperings = ['deletes', 'renames', 'separates', 'brings back'] as const

/** What a story begins with. */
export const setups: fc.Arbitrary<Setup> = fc.record({
  people: fc.integer({ min: 3, max: 7 }),
  leavers: fc.integer({ min: 0, max: 2 }),
  batchSize: fc.constantFrom(2, 3, 1000),
  updateWave: fc.constantFrom(1, 100),
})

const night = fc
  .record({ done: acts, days: fc.constantFrom(0, 0, 1), full: oneIn(5), verify: oneIn(5) })
  .map(({ done, days, ...options }) =>
    command(
      `HR: ${names(done)}; ${days} days later an export is taken and a run asked for${describeOptions(options)}`,
      async (model, system) => {
        carryOut(done, model, system)
        system.passTime(days * 24 * 60 * minuteMs)
        await takeExport(model, system, options)
      },
    ),
  )

const nightAgain = fc.record({ at: personIndex, full: oneIn(5), verify: oneIn(5) }).map(({ at, ...options }) =>
  command(`export no. ${at} is found again, and a run asked for${describeOptions(options)}`, async ({ hr }, system) => {
    const earlier = pick(hr.nights, at)
    if (earlier) system.show(earlier)
    await requestRun(system.world.sync, { connection: 'acme', feed: 'source', trigger: 'schedule', options })
  }),
)

const events = fc
  .record({ done: acts, indexes: fc.array(personIndex, { maxLength: 3 }), twice: oneIn(3) })
  .map(({ done, indexes, twice }) =>
    command(
      `HR: ${names(done)}; its events come in, older ones too (${indexes})${twice ? ', all twice' : ''}`,
      async (model, system) => {
        const older = indexes.flatMap((at) => pick(model.outbox, at) ?? [])
        const arriving = [...carryOut(done, model, system), ...older].toReversed()
        for (const event of arriving) model.received.set(keyOf(event), event)
        await receive(system.world, ...arriving)
        if (twice) await receive(system.world, ...arriving)
        system.passTime(6000)
        await system.minute()
      },
    ),
  )

const when = fc.oneof(
  fc.record({ at: fc.constant('any' as const), number: fc.integer({ min: 1, max: 70 }) }),
  fc.record({ at: fc.constant('change' as const), number: fc.integer({ min: 1, max: 4 }) }),
)

const work = fc
  .record({
    rounds: fc.constantFrom(1, 1, 2, 50),
    doubled: oneIn(4),
    stalled: fc.boolean(),
    interruption: fc.option(
      fc
        .tuple(fc.constantFrom('dies' as const, 'dies' as const, 'aborts' as const), when)
        .map(([how, moment]) => ({ how, ...moment })),
      { freq: 2 },
    ),
    trouble: fc.option(
      fc.record({ fault: fc.constantFrom(...faultNames), remaining: fc.constantFrom(1, 1, 2, 3, 8) }),
      {
        freq: 1,
      },
    ),
  })
  .map(({ trouble, ...how }) =>
    command(`jobs are worked on${describeOptions({ ...how, trouble })}`, async (model, system) => {
      if (trouble) Object.assign(system.outage, trouble)
      await system.work(how)
      await recordAccepted(model, system)
      await expectNothingUnstated(model, system)
    }),
  )

const minute = fc.constantFrom(0.1, 1, 6, 20, 61, 24 * 60).map((minutes) =>
  command(`${minutes} minutes pass`, async (_model, system) => {
    system.passTime(minutes * minuteMs)
    await system.minute()
  }),
)

const lasting = fc.constantFrom(...faultNames).map((fault) =>
  command(`from now on each request ${fault}`, async (_model, system) => {
    Object.assign(system.outage, { fault, remaining: Number.POSITIVE_INFINITY })
  }),
)

/** What else goes wrong around it, and right again. */
const mishaps: readonly fc.Arbitrary<Command>[] = [
  fc.constant(
    command('the platform is well again', async (_model, system) => {
      system.outage.remaining = 0
    }),
  ),
  fc
    .tuple(personIndex, fc.constantFrom(...tamperings))
    .map(([at, how]) =>
      command(`somebody else ${how} no. ${at} on the platform`, (model, system) => tamper(model, system, { at, how })),
    ),
  fc.constant(
    command('the queue loses everything', async (_model, { world }) => {
      world.jobs.length = 0
    }),
  ),
  fc
    .boolean()
    .map((keeps) =>
      command(`the daemon is started anew, the queue ${keeps ? 'as it was' : 'empty'}`, (_model, system) =>
        system.restart(keeps),
      ),
    ),
]

const approval = ofRuns('approved', ['held'], (sync, { runId, digest }) =>
  approveRun(sync, { runId, digest, by: 'ana' }),
)
const cancel = (sync: SyncContext, { runId }: RunInQuestion) => cancelRun(sync, { runId, by: 'ana' })
const cancellation = ofRuns('cancelled', ['delivering'], cancel)

/** What an operator does; what is refused for a good reason changes nothing. */
const operatorActs: readonly fc.Arbitrary<Command>[] = [
  approval,
  approval,
  approval,
  approval,
  approval,
  ofRuns('rejected', ['held'], (sync, { runId }) => rejectRun(sync, { runId, by: 'ana' })),
  cancellation,
  cancellation,
  ofRuns('cancelled', ['waiting', 'held'], cancel),
  personIndex.map((at) =>
    command(`no. ${at} is to be retracted`, async ({ hr }, { world }) => {
      const identityId = pick([...hr.people.keys()], at)
      if (identityId === undefined) return
      await retractPerson(world.sync, { connection: 'acme', identityId, reason: 'sent in error', by: 'ana' })
    }),
  ),
  personIndex.map((at) =>
    command(`the retraction of no. ${at} is taken back`, async ({ withheld, restored }, { world }) => {
      const identityId = pick([...withheld], at)
      if (identityId === undefined) return
      await restorePerson(world.sync, { connection: 'acme', identityId, by: 'ana' })
      withheld.delete(identityId)
      restored.add(identityId)
    }),
  ),
]

const weighted: readonly [number, readonly fc.Arbitrary<Command>[]][] = [
  [8, [night, events]],
  [12, [work]],
  [1, [minute, nightAgain]],
  [1, [lasting]],
  [1, [...mishaps, ...operatorActs]],
]

/** Everything that may happen, the ordinary more often than the rest. */
export function stories(maxCommands: number) {
  const choices = weighted.flatMap(([times, commands]) => Array.from({ length: times }, () => commands).flat())
  return fc.noBias(fc.commands(choices, { maxCommands, size: 'max' }))
}

type RunInQuestion = { readonly runId: string; readonly digest: string }

function command(name: string, carry: (model: Model, system: TestSystem) => Promise<unknown>): Command {
  return {
    check: () => true,
    async run(model, system) {
      try {
        await carry(model, system)
      } catch (error) {
        // An act that comes too early or too late is refused, and changes nothing.
        if (!(error instanceof Failure)) throw error
      }
      system.complain()
      await recordAccepted(model, system)
    },
    toString: () => name,
  }
}

function ofRuns(
  decision: string,
  states: readonly string[],
  act: (sync: SyncContext, run: RunInQuestion) => Promise<unknown>,
): fc.Arbitrary<Command> {
  return personIndex.map((at) =>
    command(`a run that is ${states.join(' or ')} is ${decision} (${at})`, async (_model, { world }) => {
      const { rows } = await world.sync.store.pool.query<RunRow>(
        'select * from runs where state = any($1) order by created_at desc',
        [states],
      )
      const run = pick(rows, at)
      if (!run) return
      await act(world.sync, { runId: run.id, digest: run.digest ?? '' })
    }),
  )
}

/** Changes a person on the platform behind everybody's back; nothing but a look at what is really there can tell. */
async function tamper(
  model: Model,
  { client }: TestSystem,
  { at, how }: { at: number; how: (typeof tamperings)[number] },
): Promise<void> {
  const identityId = pick([...(await peopleOn(client)).keys()].sort(), at)
  const connections = await client.listCustomConnections({ query: {} })
  const connectionId = connections.status === 200 ? connections.body.data[0]?.id : undefined
  if (identityId === undefined || connectionId === undefined) return
  // What stands in a field of which HR has never spoken is nobody's business, and stays.
  if (how === 'renames' && (expectedNow(model).get(identityId)?.firstName ?? null) === null) return
  model.tampered.add(identityId)
  const params = { connectionId, userIdentityId: byIdentityId(identityId) }
  const change = (body: IdentityUpdate) => client.updateHrisUserIdentity({ params, body })
  switch (how) {
    case 'deletes':
      return void (await client.deleteHrisUserIdentity({ params }))
    case 'renames':
      return void (await change({ firstName: 'Somebody' }))
    case 'separates':
      return void (await change({ separatedAt: '2026-01-31T00:00:00.000Z' }))
    case 'brings back':
      return void (await change({ separatedAt: null }))
    default:
      return how satisfies never
  }
}

function oneIn(often: number): fc.Arbitrary<boolean> {
  return fc.nat({ max: often - 1 }).map((n) => n === often - 1)
}
