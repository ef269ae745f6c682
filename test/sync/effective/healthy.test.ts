import { afterAll, beforeAll, expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { databaseOperator } from '../../../src/platform/operators/operator.ts'
import { listCoverage } from '../../../src/store/effective/comparisons.ts'
import { listFindings } from '../../../src/store/effective/findings.ts'
import { answerKeys } from '../../../src/sync/requests/key-answers.ts'
import { compareEffective } from '../../../src/sync/sync.ts'
import { noLimits } from '../../helpers/guards/no-limits.ts'
import { isFull } from '../../helpers/tier.ts'
import { variedCompany } from '../../helpers/varied-company.ts'
import { type Host, openWorld, startHost } from '../../helpers/world.ts'

let passedMs = 0
const platformNow = () => new Date(Date.now() + passedMs)
let host: Host
beforeAll(async () => {
  host = await startHost(undefined, { now: platformNow })
})
afterAll(() => host[Symbol.asyncDispose]())

const mapping = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: { column: 'Email', onBlank: 'clear' },
    firstName: 'First Name',
    jobTitle: 'Job Title',
    startedAt: { column: 'Start Date' },
    separatedAt: { column: 'Leaving Date' },
    isContractor: { column: 'Job Title', map: { Contractor: true, '*': false } },
  },
  status: { column: 'Status', leftWhen: ['Inactive'], employedWhen: ['Active'] },
  scope: '(`Job Title` != "Board")',
})

const size = isFull ? 5000 : 230

test(`nothing is found among ${size} people as different as those of a company are`, { timeout: 300_000 }, async () => {
  const { name, client } = await host.tenant()
  await using world = await openWorld({
    client,
    feed: { mapping, outOfScope: 'keep' },
    connection: { guards: noLimits },
  })
  const operator = databaseOperator(host.platform.database.db, platformNow)
  const synced = async () => {
    passedMs += 6000
    await operator.syncIdentities({ body: { account: name } })
  }
  const { first, second, keyChanges } = variedCompany(size)

  const runs = [await world.night(first, { asOf: '2025-11-20T01:00:00.000Z' })]
  await synced()
  for (const change of keyChanges)
    await answerKeys(world.sync, { connection: 'acme', ...change, same: true, by: 'ana' })
  runs.push(await world.night(second, { asOf: '2025-11-21T01:00:00.000Z' }))
  await synced()
  passedMs += 6000
  world.clock.now = platformNow()
  const result = await compareEffective(world.sync, { always: true, signal: new AbortController().signal })

  const { db } = world.sync.store
  const findings = await listFindings(db, { connections: ['acme'], limit: 1000 })
  const [coverage] = await listCoverage(db)
  expect(runs.map(({ state }) => state)).toEqual(['finished', 'finished'])
  expect(findings.map(({ subject, cause, evidence }) => [subject, cause, evidence])).toEqual([])
  expect(result?.failure).toBeNull()
  expect(coverage?.effective).toBe(coverage?.people)
  expect(coverage?.people).toBeGreaterThan(size)
})
