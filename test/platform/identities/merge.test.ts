import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type IdentityValues, identityColumns } from '../../../src/platform/identities/values.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newPeople } from '../helpers/people.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const fields = Object.keys(identityColumns) as (keyof IdentityValues)[]
const pairCount = 500
const minuteMs = 60_000

const text = fc.option(fc.constantFrom('a', 'b', 'c'))
const email = fc.option(fc.constantFrom('a@acme.example', 'b@acme.example'))
const date = fc.option(fc.constantFrom('2026-01-31T00:00:00.000Z', '2026-02-28T00:00:00.000Z'))
const values: fc.Arbitrary<IdentityValues> = fc.record({
  email,
  secondaryEmail: email,
  firstName: text,
  lastName: text,
  jobTitle: text,
  managerId: text,
  managerName: text,
  startedAt: date,
  separatedAt: date,
  isContractor: fc.option(fc.boolean()),
})
// Mostly few fields, because otherwise hardly any pair would leave a record unchanged.
const sent: fc.Arbitrary<Partial<IdentityValues>> = fc
  .tuple(values, fc.subarray(fields, { maxLength: 3 }), fc.subarray(fields))
  .chain(([all, few, many]) =>
    fc
      .constantFrom(few, few, few, many)
      .map((chosen) =>
        Object.fromEntries(Object.entries(all).filter(([field]) => chosen.some((one) => one === field))),
      ),
  )

/** The contract's rules for merging a submission into a record. */
function expected(stored: IdentityValues, submitted: Partial<IdentityValues>): IdentityValues {
  const { separatedAt = stored.separatedAt } = submitted
  return { ...stored, ...submitted, separatedAt: separatedAt && (stored.separatedAt ?? separatedAt) }
}

describe.each(databases)('merging on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  test('each sent field replaces the stored one, only null replaces a leaving date, and unchanged records are reported as such', async () => {
    const people = await newPeople((await opened.newAccount()).client)
    const pairs = fc.sample(fc.tuple(values, sent), { numRuns: pairCount })
    const [before, after] = [pairs.map(([stored]) => stored), pairs.map(([, submitted]) => submitted)]
    const send = (records: readonly Partial<IdentityValues>[]) =>
      people.send(...records.map((record, index) => ({ identityId: `${index}`, ...record })))
    bodyOf(await send(before), 201)
    opened.clock.advance(minuteMs)

    const outcomes = bodyOf(await send(after), 200)
    const again = bodyOf(await send(after), 200)

    const expectedOutcomes = pairs.map(([stored, submitted]) => {
      const merged = expected(stored, submitted)
      const isSame = fields.every((field) => merged[field] === stored[field])
      const data = { ...merged, updatedAt: opened.clock.now().toISOString() }
      return isSame ? { statusCode: 200, data: null } : { statusCode: 200, data }
    })
    expect(outcomes).toMatchObject(expectedOutcomes)
    expect(again).toEqual(pairs.map(() => ({ statusCode: 200, data: null })))
  })

  test('those who write the same record at once all succeed and lose nothing', async () => {
    const { client } = await opened.newAccount()
    const people = await newPeople(client)
    await people.put({ identityId: 'a' })
    const fieldsAtOnce = ['firstName', 'lastName', 'jobTitle', 'managerName', 'managerId'] as const

    const rounds = Array.from({ length: 20 }, (_, round) => `${round}`)
    for (const round of rounds) {
      const answers = await Promise.all(fieldsAtOnce.map((field) => people.send({ identityId: 'a', [field]: round })))
      expect(answers.map(({ status }) => status)).toEqual(fieldsAtOnce.map(() => 200))
      expect(await people.get('a')).toMatchObject(Object.fromEntries(fieldsAtOnce.map((field) => [field, round])))
    }
  })
})
