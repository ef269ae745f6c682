import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { Failure } from '../../src/errors.ts'
import { listRuns } from '../../src/store/runs/runs.ts'
import { approveRun, retractPerson } from '../../src/sync/sync.ts'
import { acts, carryOut } from '../helpers/model/acts.ts'
import { disagreements } from '../helpers/model/agreement.ts'
import { setups } from '../helpers/model/commands.ts'
import { faultNames } from '../helpers/model/faults.ts'
import { createModel, takeExport } from '../helpers/model/story.ts'
import { openTestSystem, type TestSystem } from '../helpers/model/test-system.ts'
import { seed } from '../helpers/seed.ts'
import { createPostgresDatabase, type TestDatabase } from '../helpers/servers/databases.ts'
import { isFull } from '../helpers/tier.ts'
import { reportTrials } from '../helpers/trials.ts'
import { type Host, startHost } from '../helpers/world.ts'

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

/** No story begins after this time, so that a busy machine tells fewer of them. */
const mostMs = isFull ? 120_000 : 20_000

/** The fate of each request of a night, one after the other. */
const anyFates = fc.array(fc.option(fc.constantFrom(...faultNames), { freq: 2 }), { minLength: 2, maxLength: 14 })
const night = fc.record({ done: acts, fates: anyFates, retracts: fc.option(fc.nat({ max: 8 }), { freq: 3 }) })

test('counts, state, exit code, problems, history, audit trail and platform agree, whatever happens to the requests', {
  timeout: 180_000,
}, async ({ task }) => {
  const begun = performance.now()
  let nightCount = 0
  await fc.assert(
    fc.asyncProperty(setups, fc.array(night, { minLength: 2, maxLength: 4 }), async (setup, nights) => {
      if (performance.now() - begun > mostMs) return
      nightCount += nights.length
      const model = createModel(setup)
      await using trial = await openTestSystem({ host, at: testDatabase.at, setup })
      for (const { done, fates, retracts } of nights) {
        carryOut(done, model, trial)
        trial.outage.script = [...fates]
        await takeExport(model, trial)
        const identityId = retracts === null ? undefined : [...model.hr.people.keys()][retracts]
        for (let round = 0; round < 7; round++) {
          await trial.work({ rounds: 1, doubled: false, stalled: false, interruption: null })
          trial.complain()
          expect(await disagreements(trial)).toEqual([])
          await approveHeld(trial)
          trial.passTime(20 * 60_000)
          await trial.minute()
          if (round === 3 && identityId !== undefined) await retract(trial, identityId)
        }
        trial.outage.script = []
        await trial.calm()
        expect(await disagreements(trial)).toEqual([])
      }
    }),
    { numRuns: isFull ? 60 : 3, seed },
  )
  reportTrials(task, {
    subject: 'counts, state, exit code, problems, history, audit trail and platform, compared',
    times: `${nightCount} nights`,
    result: 'they agree',
  })
})

async function approveHeld({ world: { sync } }: TestSystem): Promise<void> {
  const runs = await listRuns(sync.store.db, { limit: 100 })
  const held = runs.find(({ state }) => state === 'held')
  if (held) await ifAllowed(approveRun(sync, { runId: held.id, digest: held.digest ?? '', by: 'ana' }))
}

async function retract({ world: { sync } }: TestSystem, identityId: string): Promise<void> {
  await ifAllowed(retractPerson(sync, { connection: 'acme', identityId, reason: 'sent in error', by: 'ana' }))
}

/** A request that comes too early or too late is refused, and changes nothing. */
async function ifAllowed(act: Promise<unknown>): Promise<void> {
  await act.catch((error: unknown) => {
    if (!(error instanceof Failure)) throw error
  })
}
