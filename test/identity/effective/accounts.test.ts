import { describe, expect, test } from 'vitest'
import { type Account, compareAccounts, type StatedPerson } from '../../../src/identity/effective/accounts.ts'

const at = new Date('2026-11-20T05:00:00Z')

function person(identityId: string, more: Partial<StatedPerson> = {}): StatedPerson {
  const emails = [`${identityId.toLowerCase()}@acme.example`]
  const name = { firstName: `First ${identityId}`, lastName: 'Last' }
  return {
    connection: 'acme',
    identityId,
    laterKeys: [],
    emails,
    ...name,
    startedAt: '2020-01-06T00:00:00.000Z',
    ...more,
  }
}

function account(id: string, more: Partial<Account> = {}): Account {
  const none = { login: null, employeeNumber: null, firstName: null, lastName: null, lastSignInAt: null }
  return { id, emails: [], isEnabled: true, ...none, ...more }
}

const left = { separatedAt: '2026-11-01T00:00:00.000Z' }

function causes(people: readonly StatedPerson[], accounts: readonly Account[]): string[] {
  return compareAccounts({ people, accounts, at }).map(
    ({ cause, person: owner, account: listed }) => `${cause} ${owner?.identityId ?? listed?.id}`,
  )
}

describe('an account', () => {
  test('belongs to the person with its employee number, whatever its address is', () => {
    const accounts = [account('a', { employeeNumber: 'E1', login: 'e2@acme.example' })]

    expect(causes([person('E1', left), person('E2', left)], accounts)).toEqual(['account_of_leaver E1'])
  })

  test.each([
    ['its address', { emails: ['E1@Acme.example '] }],
    ['its login', { login: 'e1@acme.example' }],
    ['an alias', { login: 'x', emails: ['x@acme.example', 'e1@ACME.example'] }],
    ['its address, if HR does not know its number', { employeeNumber: 'X9', emails: ['e1@acme.example'] }],
  ])('belongs to the person with %s', (_by, more) => {
    expect(causes([person('E1', left)], [account('a', more)])).toEqual(['account_of_leaver E1'])
    expect(causes([person('E1')], [account('a', more)])).toEqual([])
  })

  test('belongs to nobody by a name alone, which names a candidate', () => {
    const named = account('a', { login: 'anna', firstName: 'first e1', lastName: 'LAST' })

    const findings = compareAccounts({ people: [person('E1')], accounts: [named], at })

    expect(findings).toMatchObject([
      { cause: 'account_unknown', evidence: { candidateKeys: ['E1'], values: { logins: ['anna'] } } },
      { cause: 'account_missing', person: { identityId: 'E1' } },
    ])
  })

  test('without any name has no candidates among people without one', () => {
    const nameless = person('E1', { firstName: null, lastName: null, emails: [] })

    const [unknown] = compareAccounts({ people: [nameless], accounts: [account('a', { login: 'x' })], at })

    expect(unknown?.evidence.candidateKeys).toEqual([])
  })

  test('that is disabled is no finding, and is an account of its person', () => {
    const disabled = { isEnabled: false, employeeNumber: 'E1' }

    expect(causes([person('E1', left)], [account('a', disabled)])).toEqual([])
    expect(causes([person('E1')], [account('a', disabled), account('b', { isEnabled: false })])).toEqual([])
  })

  test.each([
    ['returned under another key with the address', { ...person('E9'), firstName: 'First E1' }, []],
    ['has an address that somebody else has now', person('E9'), ['account_of_leaver E1']],
    ['has a namesake without a name', { ...person('E9'), firstName: null, lastName: null }, ['account_of_leaver E1']],
  ])('of a leaver who %s', (_what, other, expected) => {
    const accounts = [account('a', { employeeNumber: 'E1', login: 'e9@acme.example' })]

    expect(causes([person('E1', left), other], accounts)).toEqual(expected)
  })

  test.each([
    ['returned under another key', { firstName: 'First E1' }, []],
    ['shares it with somebody else', {}, ['account_of_leaver E1']],
    ['shares it with somebody without a name', { firstName: null, lastName: null }, ['account_of_leaver E1']],
  ])('with the number and the address of a leaver who %s', (_what, name, expected) => {
    const other = { ...person('E9', name), emails: ['e1@acme.example'] }
    const accounts = [account('a', { employeeNumber: 'E1', login: 'e1@acme.example' })]

    expect(causes([person('E1', left), other], accounts)).toEqual(expected)
  })

  test('is judged as of the list: later departures and starts do not count', () => {
    const later = { separatedAt: '2026-11-20T06:00:00.000Z' }
    const future = { startedAt: '2026-12-01T00:00:00.000Z' }

    expect(causes([person('E1', later), person('E2', future)], [account('a', { employeeNumber: 'E1' })])).toEqual([])
    expect(causes([person('E2', future)], [account('a', { employeeNumber: 'E2' })])).toEqual([])
  })
})

test('an address that relatives share hides neither an account nor a missing one', () => {
  const ana = person('E1', { emails: ['ana@acme.example', 'family@home.example'] })
  const ben = person('E2', { emails: ['ben@acme.example', 'family@home.example'] })
  const accounts = [account('a', { login: 'ana@acme.example', emails: ['ana@acme.example', 'family@home.example'] })]

  expect(causes([{ ...ana, ...left }, ben], accounts)).toEqual(['account_of_leaver E1', 'account_missing E2'])
  expect(causes([ana, ben], accounts)).toEqual(['account_missing E2'])
})

describe('an account without a number, whose addresses are those of a leaver and of somebody employed,', () => {
  const home = 'family@home.example'
  const ana = person('E1', { firstName: 'Ana', emails: ['ana@acme.example', home], ...left })
  const ben = person('E2', { firstName: 'Ben', emails: ['ben@acme.example', home] })
  const named = { firstName: 'Ana', lastName: 'Last' }
  const benNamed = { firstName: 'Ben', lastName: 'Last' }
  type Row = [string, Partial<Account>, string[]]

  test.each<Row>([
    ['that of the leaver by its name', { login: home, ...named }, ['account_of_leaver E1', 'account_missing E2']],
    ['that of both without a name', { login: home }, []],
    [
      'that of the leaver by its login',
      { login: 'ana@acme.example', emails: ['ben@acme.example'] },
      ['account_of_leaver E1', 'account_missing E2'],
    ],
    ['that of the employed by its login', { login: 'ben@acme.example', emails: ['ana@acme.example'] }, []],
    ['that of the employed by its name', { login: 'ana@acme.example', emails: ['ben@acme.example'], ...benNamed }, []],
  ])('is %s', (_whose, more, expected) => {
    expect(causes([ana, ben], [account('a', more)])).toEqual(expected)
  })

  test('is noted as of several people if its login decides', () => {
    const accounts = [account('a', { login: 'ana@acme.example', emails: ['ben@acme.example'] })]

    expect(compareAccounts({ people: [ana, ben], accounts, at })[0]?.evidence.note).toBe('several_owners')
  })

  test('is that of somebody who returned, also under another address or name', () => {
    const again = { separatedAt: null }
    const renamed = { ...ana, ...again, identityId: 'E9', lastName: 'New' }
    const moved = { ...ana, ...again, identityId: 'E9', emails: ['ana.last@acme.example'] }

    expect(causes([ana, renamed], [account('a', { login: 'ana@acme.example', ...named })])).toEqual([])
    const both = account('a', { login: 'ana@acme.example', emails: ['ana.last@acme.example'] })
    expect(causes([ana, moved], [both])).toEqual([])
  })
})

describe('an account whose number is that of', () => {
  const ana = person('17', { firstName: 'Ana', emails: ['ana@acme.example'] })
  const ben = person('17', { connection: 'contractors', firstName: 'Ben', emails: ['ben@acme.example'] })
  const bob = person('1042', { firstName: 'Bob', emails: ['bob@acme.example'] })

  test('two people of two connections belongs to the one with its address, else with its name', () => {
    const people = [{ ...ana, ...left }, ben]
    const ghost = account('a', { employeeNumber: '17', login: 'ana@acme.example' })
    const named = account('b', { employeeNumber: '17', firstName: 'Ben', lastName: 'Last' })

    expect(causes(people, [ghost])).toEqual(['account_of_leaver 17', 'account_missing 17'])
    expect(causes(people, [ghost, named])).toEqual(['account_of_leaver 17'])
    expect(causes(people, [named])).toEqual([])
  })

  test('two people, and that names neither otherwise, is reported with a note', () => {
    const accounts = [account('a', { employeeNumber: '17', login: 'x' })]

    expect(compareAccounts({ people: [{ ...ana, ...left }, ben], accounts, at })).toMatchObject([
      { cause: 'account_of_leaver', person: { firstName: 'Ana' }, evidence: { note: 'several_owners' } },
    ])
    expect(causes([ana, ben], accounts)).toEqual([])
  })

  test('somebody else than its address belongs to the one with its name', () => {
    const accounts = [
      account('a', { employeeNumber: '1042', login: 'ana@acme.example', firstName: 'Ana', lastName: 'Last' }),
      account('b', { login: 'bob@acme.example' }),
    ]

    expect(causes([{ ...ana, ...left }, bob], accounts)).toEqual(['account_of_leaver 17'])
    expect(causes([ana, { ...bob, ...left }], accounts.slice(0, 1))).toEqual([])
  })

  test('somebody employed, with the address of a leaver and no name, is reported with a note', () => {
    const accounts = [account('a', { employeeNumber: '1042', login: 'ana@acme.example' })]

    expect(compareAccounts({ people: [{ ...ana, ...left }, bob], accounts, at })).toMatchObject([
      { cause: 'account_of_leaver', person: { firstName: 'Ana' }, evidence: { note: 'several_owners' } },
    ])
  })
})

test('a key that an operator confirmed as a later one is that of the person', () => {
  const people = [person('E1', { ...left, laterKeys: ['N7'] })]

  expect(causes(people, [account('a', { employeeNumber: 'n7' })])).toEqual(['account_of_leaver E1'])
})

test('a leaver with several accounts is one finding with all of them', () => {
  const accounts = [
    account('a', { employeeNumber: 'E1', login: 'one', lastSignInAt: '2026-10-01T00:00:00Z' }),
    account('b', { employeeNumber: 'E1', login: 'two', lastSignInAt: '2026-11-19T00:00:00Z' }),
    account('c', { login: 'three' }),
  ]

  expect(compareAccounts({ people: [person('E1', left)], accounts, at })).toMatchObject([
    {
      cause: 'account_of_leaver',
      evidence: { accounts: 2, lastSignInAt: '2026-11-19T00:00:00Z', values: { logins: ['one', 'two'] } },
    },
    { cause: 'account_unknown', account: { id: 'c' } },
  ])
})

test('a person in two connections with one address needs one account', () => {
  const twice = [person('E1'), { ...person('X7'), connection: 'other', emails: ['e1@acme.example'] }]

  expect(causes(twice, [account('a', { employeeNumber: 'E1' })])).toEqual([])
  expect(causes(twice, [account('a', { login: 'nobody' })])).toEqual([
    ...['account_unknown a', 'account_missing E1', 'account_missing X7'],
  ])
})
