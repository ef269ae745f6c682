import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { setups, stories } from '../helpers/model/commands.ts'
import { createModel, deliverRemaining, findings, recordAccepted, takeExport } from '../helpers/model/story.ts'
import { openTestSystem } from '../helpers/model/test-system.ts'
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

/** The parameters of a story that failed, as its report names them, tell it again: `{ seed, path, endOnFailure: true }`. */
const parameters: fc.Parameters<unknown> = { numRuns: isFull ? 30 : 2, seed }
/** No story begins after this time, so that a busy machine tells fewer of them, and a failed one is not simplified for ever. */
const mostMs = 75_000

test('the platform ends as HR stated, whatever happens in whatever order', { timeout: 180_000 }, async ({ task }) => {
  const begun = performance.now()
  let storyCount = 0
  await fc.assert(
    fc.asyncProperty(setups, stories(80), async (setup, story) => {
      if (performance.now() - begun > mostMs) return
      storyCount += 1
      const model = createModel(setup)
      await using trial = await openTestSystem({ host, at: testDatabase.at, setup })
      await takeExport(model, trial)
      await trial.calm()
      await recordAccepted(model, trial)

      await fc.asyncModelRun(() => ({ model, real: trial }), story)
      await trial.calm()
      await recordAccepted(model, trial)
      await deliverRemaining(model, trial)

      expect(await findings(model, trial)).toEqual([])
    }),
    parameters,
  )
  reportTrials(task, {
    subject: 'stories in any order',
    times: `${storyCount} stories`,
    result: 'the platform ends as HR said',
  })
})
