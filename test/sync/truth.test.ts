import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import { listRuns } from '../../src/store/runs/runs.ts'
import type { SyncContext } from '../../src/sync/context/context.ts'
import { approveRun, previewPart, retractPerson } from '../../src/sync/sync.ts'
import { receive } from '../helpers/events.ts'
import { acts, carryOut, pick, personIndex as whom } from '../helpers/model/acts.ts'
import { setups } from '../helpers/model/commands.ts'
import { fateNames } from '../helpers/model/faults.ts'
import { createModel, keyOf, type Model, takeExport } from '../helpers/model/story.ts'
import { openTestSystem, type TestSystem } from '../helpers/model/test-system.ts'
import { findUnreported, noCounts } from '../helpers/model/truth.ts'
import { seed } from '../helpers/seed.ts'
import { createPostgresDatabase, type TestDatabase } from '../helpers/servers/databases.ts'
import { differencesStated, recountStatement } from '../helpers/statements.ts'
import { isFull } from '../helpers/tier.ts'
import { reportTrials } from '../helpers/trials.ts'
import { type Host, startHost } from '../helpers/world.ts'

const turns = Number(process.env.ROLLCALL_TURNS ?? (isFull ? 400 : 50))
/** Number of turns that share a store. */
const turnsAStory = 10
const minuteMs = 60_000
const msPerTurn = 5000

let host: Host
let testDatabase: TestDatabase
beforeAll(async () => {
  host = await startHost()
  testDatabase = await createPostgresDatabase()
})
afterAll(async () => {
  await testDatabase[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const death = fc.record({
  how: fc.constantFrom('dies' as const, 'aborts' as const),
  at: fc.constantFrom('any' as const, 'change' as const),
  number: fc.integer({ min: 1, max: 40 }),
})

/** The fate of a request. */
const fate = fc.oneof(
  { weight: 4, arbitrary: fc.constant(null) },
  { weight: 4, arbitrary: fc.constantFrom(...fateNames) },
  { weight: 2, arbitrary: fc.constant('arrives late' as const) },
)

/** Some of the work, and the time until more of it; meanwhile HR may have more to say, and requests may arrive that were given up. */
const round = fc.record({
  minutes: fc.constantFrom<number[]>(0.1, 1, 1, 4, 16, 61),
  more: fc.option(acts, { freq: 1 }),
  late: fc.boolean(),
  approvesPart: fc.boolean(),
})

/** A night: what HR does and how it states it, the fate of each request, and how time passes meanwhile. */
const anyTurn = fc.record({
  done: acts,
  exports: fc.integer({ min: 0, max: 3 }).map((number) => number > 0),
  fates: fc.array(fate, { minLength: 1, maxLength: 10, size: 'max' }),
  sparesReads: fc.boolean(),
  wavers: whom,
  interruption: fc.option(death, { freq: 1 }),
  retracts: fc.option(fc.nat({ max: 8 }), { freq: 1 }),
  rounds: fc.array(round, { minLength: 2, maxLength: 6, size: 'max' }),
})
type Turn = typeof anyTurn extends fc.Arbitrary<infer T> ? T : never

/** A night whose first request is abandoned, and reaches the platform after HR stated the opposite and that was delivered. */
const lateTurn = anyTurn.map((turn): Turn => {
  const later = { minutes: 1, more: turn.done, late: false, approvesPart: false }
  const rounds = [later, later, { ...later, late: true }]
  return { ...turn, exports: true, fates: ['arrives late'], sparesReads: true, interruption: null, rounds }
})
const oneTurn = fc.oneof({ weight: 4, arbitrary: anyTurn }, { weight: 1, arbitrary: lateTurn })

test('whenever a run or a command reports success, the platform has what HR stated, or each difference is listed', {
  timeout: 60_000 + turns * msPerTurn,
}, async ({ task }) => {
  const counts = noCounts()
  let leftOut = 0
  let recounts = 0
  let parts = 0
  const story = fc.noBias(fc.array(oneTurn, { minLength: turnsAStory, maxLength: turnsAStory }))
  try {
    await fc.assert(
      fc.asyncProperty(setups, story, async (setup, nights) => {
        const model = createModel(setup)
        await using trial = await openTestSystem({ host, at: testDatabase.at, setup })
        const look = async () => expect(await findUnreported(model, trial, counts)).toEqual([])
        for (const night of nights) {
          await begin(night, model, trial)
          for (const { minutes, more, late, approvesPart } of night.rounds) {
            const { interruption } = night
            await trial.work({ rounds: 2, doubled: false, stalled: true, interruption })
            trial.complain()
            await look()
            if (late) counts.late += await trial.arriveLate()
            await look()
            parts += await approveHeld(trial, approvesPart)
            if (more) {
              carryOut(more, model, trial)
              waver(night.wavers, model)
              await takeExport(model, trial)
            }
            trial.passTime(minutes * minuteMs)
            await trial.minute()
          }
          trial.outage.script = []
          await trial.calm()
          await look()
          expect(await differencesStated(trial.world)).toEqual([])
          // The statement about the last runs comes with the next hour.
          await trial.calm()
          const { differences, records } = await recountStatement(trial.world, {
            client: trial.client,
            isExportAccepted: false,
          })
          expect(differences).toEqual([])
          if (records !== null) recounts++
          counts.turns++
        }
        leftOut += trial.world.source.skippedRows
      }),
      { numRuns: Math.ceil(turns / turnsAStory), seed, endOnFailure: true },
    )
  } finally {
    const { turns: turnCount, exact, named, problems, inDoubt, late } = counts
    reportTrials(task, {
      subject: 'successes held to what the platform holds',
      times: `${turnCount} turns, ${exact + named} successes (seed ${seed})`,
      result: `${exact} exact, ${named} with ${problems} people named as problems and ${inDoubt} in doubt, ${late} late requests, ${leftOut} rows of exports left out, ${recounts} statements recounted, ${parts} parts of plans approved`,
    })
  }
  // All have to come up, or nothing was shown. In few turns it is a matter of chance whether somebody is in doubt at the right moment.
  const inDoubt = counts.inDoubt + (isFull ? 0 : counts.problems)
  expect(
    Math.min(recounts, counts.exact, counts.named, counts.problems, inDoubt, counts.late, leftOut, parts),
  ).toBeGreaterThan(0)
})

async function begin(
  { done, exports, fates, sparesReads, wavers, retracts }: Turn,
  model: Model,
  trial: TestSystem,
): Promise<void> {
  const events = carryOut(done, model, trial)
  waver(wavers, model)
  for (const event of events) model.received.set(keyOf(event), event)
  await receive(trial.world, ...events)
  trial.passTime(6000)
  Object.assign(trial.outage, { script: [...fates], sparesReads })
  if (exports) await takeExport(model, trial)
  await trial.minute()
  const identityId = retracts === null ? undefined : [...model.hr.people.keys()][retracts]
  if (identityId === undefined) return
  const { sync } = trial.world
  await ifAllowed(retractPerson(sync, { connection: 'acme', identityId, reason: 'sent in error', by: 'ana' }))
}

/** HR says of one person again and again that they have left, and that they are here: a request that arrives late says the opposite. */
function waver(at: number, { hr }: Model): void {
  const person = pick([...hr.people.values()], at)
  if (person?.status === 'Active' && person.listed) hr.leave(person.id, '2026-11-02')
  else if (person) hr.comeBack(person.id, person.start ?? '2020-01-06')
}

/** Approves what is held, or of each plan every second person. Returns how many parts were approved. */
async function approveHeld({ world: { sync } }: TestSystem, asPart: boolean): Promise<number> {
  const runs = await listRuns(sync.store.db, { limit: 50 })
  let parts = 0
  for (const { id: runId, digest } of runs.filter(({ state }) => state === 'held')) {
    if (!asPart) await ifAllowed(approveRun(sync, { runId, digest: digest ?? '', by: 'ana' }))
    else if (await ifAllowed(approveEverySecond(sync, runId))) parts++
  }
  return parts
}

async function approveEverySecond(sync: SyncContext, runId: string): Promise<void> {
  const changes = await sync.store.db
    .selectFrom('changes')
    .select('identity_id')
    .where('run_id', '=', runId)
    .orderBy('identity_id')
    .execute()
  const people = changes.flatMap(({ identity_id }, at) => (at % 2 === 0 ? identity_id : []))
  const { digest } = await previewPart(sync, { runId, selection: { people } })
  await approveRun(sync, { runId, digest, part: { people }, by: 'ana' })
}

/** A request that comes too early or too late is refused, and changes nothing. Returns whether it was allowed. */
async function ifAllowed(act: Promise<unknown>): Promise<boolean> {
  try {
    await act
    return true
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return false
  }
}
