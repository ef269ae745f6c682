import { afterAll, beforeAll, expect, test } from 'vitest'
import { runScenario } from '../helpers/scenario.ts'
import { createPostgresDatabase } from '../helpers/servers/databases.ts'
import { isFull } from '../helpers/tier.ts'
import { type Host, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test.each(isFull ? [1, 2, 3, 4, 5, 6, 7, 8] : [1])(
  'nights in which a quarter of all requests goes wrong end as HR said (seed %i)',
  async (seed) => {
    await using testDatabase = await createPostgresDatabase()

    const { findings, faults } = await runScenario(host, testDatabase.at, {
      seed,
      nights: 8,
      people: 40,
      faultRate: 0.25,
    })

    expect(findings).toEqual([])
    expect([...faults.keys()].length).toBeGreaterThan(2)
  },
)
