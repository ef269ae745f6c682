import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newCompany } from '../helpers/companies.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const past = '2025-06-30T00:00:00.000Z'

describe.each(databases)('identity matching on $name', ({ createDatabase }) => {
  let opened: TestPlatform

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  const company = (people?: Parameters<typeof newCompany>[1]) => newCompany(opened, people)

  test('an address finds its user whatever the case', async () => {
    const acme = await company([{ email: 'Nora.Berg@acme.example', firstName: 'Nora', lastName: 'Berg' }])
    await acme.send([
      { identityId: 'a', email: 'nora.berg@ACME.example', lastName: 'Berg-Lie', isContractor: false, startedAt: past },
    ])

    const result = await acme.sync()

    const [person, ...others] = await acme.persons()
    expect(others).toEqual([])
    expect(person).toMatchObject({
      employmentStatus: 'CURRENT_EMPLOYEE',
      startedAt: past,
      user: { email: 'Nora.Berg@acme.example', firstName: 'Nora', lastName: 'Berg-Lie' },
    })
    expect(result).toMatchObject({ created: 0, changed: 1 })
  })

  test('exact names find the only user who has them, where the address does not', async () => {
    const acme = await company([{ email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg' }])
    await acme.send([
      { identityId: 'a', email: 'n.berg@home.example', firstName: 'Nora', lastName: 'Berg', isContractor: false },
    ])

    await acme.sync()

    const persons = await acme.persons()
    expect(persons.map(({ user }) => user?.email)).toEqual(['nora@acme.example'])
    expect(persons[0]?.employmentStatus).toBe('CURRENT_EMPLOYEE')
  })

  test.each([
    ['two users have the names', ['Nora', 'Berg'], [['Nora', 'Berg']]],
    ['the case differs', ['Signe', 'Lie'], [['nora', 'berg']]],
    [
      'two records have the names',
      ['Signe', 'Lie'],
      [
        ['Nora', 'Berg'],
        ['Nora', 'Berg'],
      ],
    ],
  ])('names match nobody where %s', async (_what, [firstName = '', lastName = ''], records) => {
    const acme = await company([
      { email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg' },
      { email: 'other@acme.example', firstName, lastName },
    ])
    await acme.send(
      records.map(([first = '', last = ''], index) => ({
        identityId: `${index}`,
        firstName: first,
        lastName: last,
        isContractor: false,
      })),
    )

    await acme.sync()

    expect((await acme.person('nora@acme.example')).employmentStatus).toBe('UNKNOWN')
    expect(await acme.persons()).toHaveLength(2 + records.length)
  })

  test('a namesake who has an HR record of their own is not taken for another', async () => {
    const acme = await company()
    await acme.send([
      { identityId: 'a', email: 'nora@acme.example', firstName: 'Nora', lastName: 'Berg', isContractor: false },
    ])
    await acme.sync()
    await acme.send([
      { identityId: 'b', email: 'nora.2@acme.example', firstName: 'Nora', lastName: 'Berg', isContractor: true },
    ])

    await acme.sync()

    expect((await acme.persons()).map(({ employmentStatus, user }) => [user?.email, employmentStatus])).toEqual([
      ['nora@acme.example', 'CURRENT_EMPLOYEE'],
      ['nora.2@acme.example', 'CURRENT_CONTRACTOR'],
    ])
  })

  test('a record that matches nobody makes a person, also without an address', async () => {
    const acme = await company()
    await acme.send([
      { identityId: 'a', firstName: 'Ana', lastName: 'Silva', isContractor: false },
      { identityId: 'b', isContractor: true },
    ])

    await acme.sync()

    const persons = await acme.persons()
    expect(persons.map(({ employmentStatus }) => employmentStatus)).toEqual(['CURRENT_EMPLOYEE', 'CURRENT_CONTRACTOR'])
    expect(persons.map(({ user }) => user?.email.endsWith('@no-address.invalid'))).toEqual([true, true])
  })

  test('who changes name and address stays the same person', async () => {
    const acme = await company()
    await acme.send([
      { identityId: 'a', email: 'ana.silva@acme.example', firstName: 'Ana', lastName: 'Silva', isContractor: false },
    ])
    await acme.sync()
    const before = await acme.person('ana.silva@acme.example')

    await acme.send([{ identityId: 'a', email: 'ana.costa@acme.example', lastName: 'Costa' }])
    await acme.sync()

    const persons = await acme.persons()
    expect(persons).toHaveLength(1)
    expect(persons[0]).toMatchObject({ id: before.id, user: { email: 'ana.costa@acme.example', lastName: 'Costa' } })
  })

  test('an address that passes to a successor makes the two different people', async () => {
    const acme = await company()
    await acme.send([
      { identityId: 'old', email: 'desk@acme.example', firstName: 'Ana', lastName: 'Silva', isContractor: false },
    ])
    await acme.sync()

    await acme.send([
      { identityId: 'old', email: 'ana@home.example', separatedAt: past },
      { identityId: 'new', email: 'desk@acme.example', firstName: 'Bo', lastName: 'Lind', isContractor: false },
    ])
    await acme.sync()

    expect((await acme.person('desk@acme.example')).employmentStatus).toBe('CURRENT_EMPLOYEE')
    expect((await acme.person('ana@home.example')).employmentStatus).toBe('FORMER_EMPLOYEE')
  })

  test('two records that swap or share an address do not stop the sync', async () => {
    const acme = await company()
    await acme.send([
      { identityId: 'a', email: 'a@acme.example', isContractor: false },
      { identityId: 'b', email: 'b@acme.example', isContractor: true },
    ])
    await acme.sync()

    await acme.send([
      { identityId: 'a', email: 'both@acme.example' },
      { identityId: 'b', email: 'both@acme.example' },
    ])
    const shared = await acme.sync()
    await acme.send([
      { identityId: 'a', email: 'b@acme.example' },
      { identityId: 'b', email: 'a@acme.example' },
    ])
    const swapped = await acme.sync()

    expect([shared.identities, swapped.identities]).toEqual([2, 2])
  })
})
