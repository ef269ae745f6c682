import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Connector, SourceRow } from '../../../src/connectors/connector.ts'
import { effectiveOperations } from '../../../src/contract/control/effective.ts'
import { Failure } from '../../../src/errors.ts'
import { mapAccountColumns } from '../../../src/identity/effective/account-columns.ts'
import { Guards } from '../../../src/identity/guards/limits.ts'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { findConditions } from '../../../src/store/alerts/conditions.ts'
import {
  claimComparison,
  comparisonOfDirectory,
  findComparison,
  listCoverage,
} from '../../../src/store/effective/comparisons.ts'
import { listFindings, storeFindings } from '../../../src/store/effective/findings.ts'
import { forgetPerson } from '../../../src/store/retention/forget.ts'
import type { Directory, SyncContext } from '../../../src/sync/context/context.ts'
import { compareDirectories, compareDirectory, compareGivenAccounts } from '../../../src/sync/sync.ts'
import { firstOf, isFull } from '../../helpers/tier.ts'
import { change, type Host, type HrPerson, openWorld, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const mapping = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: 'Email',
    firstName: 'First Name',
    startedAt: 'Start Date',
    separatedAt: 'Leaving Date',
    isContractor: { column: 'Status', map: { '*': false } },
  },
})
const signal = new AbortController().signal
const guards = Guards.parse({
  leavers: { count: 100_000 },
  leftJoiners: { count: 100_000 },
  sameLeaving: { count: 100_000 },
})
/** The day before which everybody who leaves here has left. */
const leavingDate = '2026-01-31'

/** A row of a directory: what is left out is blank. */
type Row = Readonly<Record<string, string>>

/** What a directory gives of an account, in its own words. */
type Shape = {
  readonly headers: readonly string[]
  readonly row: (entry: { readonly index: number; readonly email: string; readonly isEnabled: boolean }) => Row
}

/** Entra knows the number of most people, Okta the addresses, and Google the aliases. */
const shapes: Readonly<Record<string, Shape>> = {
  entra: {
    headers: ['id', 'userPrincipalName', 'mail', 'accountEnabled', 'employeeId'],
    row: ({ index, email, isEnabled }) => ({
      id: `entra-${index}`,
      userPrincipalName: `u${index}@acme.onmicrosoft.example`,
      mail: index % 7 === 0 ? email : `other${index}@acme.example`,
      accountEnabled: String(isEnabled),
      employeeId: index % 7 === 0 ? '' : keyAt(index),
    }),
  },
  okta: {
    headers: ['User Id', 'Login', 'Email', 'Status', 'Last Login'],
    row: ({ index, email, isEnabled }) => ({
      'User Id': `00u${index}`,
      Login: index % 2 === 0 ? email : `login${index}`,
      Email: index % 2 === 0 ? `other${index}@acme.example` : email.toUpperCase(),
      Status: isEnabled ? (['ACTIVE', 'LOCKED_OUT', 'PASSWORD_EXPIRED', 'STAGED'][index % 4] ?? '') : 'DEPROVISIONED',
      'Last Login': '2026-01-01T08:00:00.000Z',
    }),
  },
  google: {
    headers: ['Email Address [Required]', 'Status [READ ONLY]', 'Email Aliases'],
    row: ({ index, email, isEnabled }) => ({
      'Email Address [Required]': `new.name${index}@acme.example`,
      'Status [READ ONLY]': isEnabled ? 'Active' : 'Suspended',
      'Email Aliases': `sales${index}@acme.example; ${email}`,
    }),
  },
}

function keyAt(index: number): string {
  return `E${String(index + 1).padStart(4, '0')}`
}

type List = {
  readonly headers: readonly string[]
  readonly rows: readonly Row[]
  readonly asOf?: Date
  readonly cut?: Error
}

/** A directory whose list a test replaces. */
function directoryOf(now: () => Date, list: List) {
  const state = { list }
  const connector: Connector = {
    open: async () => {
      const { headers, rows, asOf = now(), cut } = state.list
      async function* slices(): AsyncGenerator<readonly SourceRow[]> {
        for (let at = 0; at < rows.length; at += 300)
          yield rows.slice(at, at + 300).map((row, index) => ({
            values: headers.map((header) => row[header] ?? ''),
            origin: { file: 'accounts.csv', line: at + index + 2 },
          }))
        if (cut) throw cut
      }
      const source = { name: 'accounts.csv', bytes: 1, version: 'v1' }
      return { mode: 'snapshot', asOf: asOf.toISOString(), source, headers, rows: slices() }
    },
  }
  const columns = mapAccountColumns(list.headers)
  if (typeof columns === 'string') throw new Error(columns)
  const { fields, record } = columns
  const email = record.email === undefined ? {} : { email: { ...record.email, optional: true } }
  const rules = { traps: [], timeZone: 'UTC', absence: 'ignore', graceRuns: 1, future: 'defer' } as const
  const directory: Directory = {
    name: 'accounts',
    feed: { ...rules, connector, mapping: Mapping.parse({ fields, record: { ...record, ...email } }) },
    guards: Guards.parse({}),
    nextAt: (from) => new Date(from.getTime() + 3600_000),
  }
  return { directory, state }
}

/** A company with leavers, and a directory of it. */
async function open(people: readonly HrPerson[], list: List) {
  const { client } = await host.tenant()
  const world = await openWorld({ client, connection: { guards }, feed: { mapping } })
  await world.night([...people])
  const { directory, state } = directoryOf(() => world.clock.now, list)
  const sync: SyncContext = { ...world.sync, directories: new Map([['accounts', directory]]) }
  const { db } = sync.store
  const findings = () => listFindings(db, { connections: ['accounts'], limit: 20_000 })
  return {
    world,
    sync,
    db,
    directory,
    findings,
    causes: async () => (await findings()).map(({ subject, cause }) => `${subject.slice(0, 7)} ${cause}`).toSorted(),
    show: (next: List) => {
      state.list = next
    },
    compare: () => compareDirectory(sync, directory, { always: true, signal }),
    failure: async () => (await findComparison(db, comparisonOfDirectory('accounts')))?.failure ?? null,
    alerts: async (maxGhosts = 0) => {
      const settings = { connections: ['acme'], directories: ['accounts'], maxGhosts, now: world.clock.now }
      const others = { overdueMinutes: 60, pausedHours: 24, freshness: [], maxLeaverHours: new Map() }
      const { current } = await findConditions(db, { ...settings, ...others })
      return current
        .filter(({ kind }) => kind === 'directory')
        .map(({ code, people: count, reason }) => ({ code, count, reason }))
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

function requireShape(name: string): Shape {
  const shape = shapes[name]
  if (!shape) throw new Error(`no shape ${name}`)
  return shape
}

/** An account for each person, as a shape writes it. */
function listOf(name: string, people: readonly HrPerson[], isEnabled: (index: number) => boolean): List {
  const { headers, row } = requireShape(name)
  return {
    headers,
    rows: people.map(({ email = '' }, index) => row({ index, email, isEnabled: isEnabled(index) })),
  }
}

describe.each(firstOf(1, Object.keys(shapes)))('seeded ghosts in the directory %s', (name) => {
  const [size, ghosts] = isFull ? [10_000, 500] : [600, 30]
  const every = size / ghosts

  test(`${ghosts} of ${size} people are all named, and nobody else`, { timeout: 600_000 }, async () => {
    const isLeaver = (index: number) => index % 5 === 1
    const people = staff(size).map((person, index) => (isLeaver(index) ? { ...person, leavingDate } : person))
    // A half are leavers whose account stays enabled; the others are accounts of nobody.
    const seeded = people.flatMap((_person, index) => (isLeaver(index) ? [index] : [])).slice(0, ghosts / 2)
    const isGhost = new Set(seeded)
    const list = listOf(name, people, (index) => !isLeaver(index) || isGhost.has(index))
    const { row } = requireShape(name)
    const nobody = Array.from({ length: ghosts / 2 }, (_, at) => {
      const index = (size + at) * every
      return row({ index, email: `nobody${index}@elsewhere.example`, isEnabled: true })
    })
    await using opened = await open(people, { ...list, rows: [...list.rows, ...nobody] })

    await opened.compare()

    const findings = await opened.findings()
    expect(await opened.failure()).toBeNull()
    const leavers = findings.filter(({ cause }) => cause === 'account_of_leaver')
    expect(leavers.map(({ subject }) => subject).toSorted()).toEqual(seeded.map(keyAt).toSorted())
    expect(findings.filter(({ cause }) => cause === 'account_unknown')).toHaveLength(ghosts / 2)
    expect(findings).toHaveLength(ghosts)
  })
})

describe('a comparison with a directory', () => {
  const people = change(staff(40), { id: 'E0003', leavingDate })
  const healthy = listOf('okta', people, (index) => index !== 2)
  const withGhost = listOf('okta', people, () => true)

  test('finds nothing in a healthy company, and keeps the time when a ghost was first seen until it is mended', async () => {
    await using opened = await open(people, healthy)
    await opened.compare()
    const before = await opened.causes()
    opened.show(withGhost)
    await opened.compare()
    const [first] = await opened.findings()
    const raised = await opened.alerts()
    opened.world.clock.now = new Date(opened.world.clock.now.getTime() + 3600_000)
    await opened.compare()
    const [again] = await opened.findings()

    opened.show(healthy)
    await opened.compare()

    expect(before).toEqual([])
    expect(first).toMatchObject({
      cause: 'account_of_leaver',
      subject: 'E0003',
      personConnection: 'acme',
      name: 'Person 3',
    })
    expect(again?.firstSeenAt).toEqual(first?.firstSeenAt)
    expect(again?.lastSeenAt).not.toEqual(first?.lastSeenAt)
    expect(raised).toEqual([
      { code: null, count: null, reason: '1 account of people who left, or whom HR does not know, is enabled' },
    ])
    expect(await opened.alerts(1)).toEqual([])
    expect([await opened.causes(), await opened.alerts()]).toEqual([[], []])
  })

  const refused: readonly (readonly [string, List, RegExp])[] = [
    ['broken', { ...healthy, cut: Object.assign(new Error('cut')) }, /^of an unexpected error/],
    [
      'cut after a row',
      { ...healthy, rows: healthy.rows.slice(0, 35) },
      /^the last 5 accounts of the last list are gone: the list may have been cut/,
    ],
    [
      'without a column that it had',
      { ...healthy, headers: ['User Id', 'Login', 'Status', 'Last Login'] },
      /^the last list had a column for email, and this one has none/,
    ],
    [
      'blank in a column that had values',
      { ...healthy, rows: healthy.rows.map((row) => ({ ...row, Email: ' ; ' })) },
      /^in the last list accounts had email, and in this one none has/,
    ],
    ['empty', { ...healthy, rows: [] }, /holds no account/],
    [
      'half',
      { ...healthy, rows: healthy.rows.slice(0, 20) },
      /^20 of 40 accounts of the last list are gone; the limit is 8: /,
    ],
    ['old', { ...healthy, asOf: new Date('2020-01-01T00:00:00Z') }, /days old/],
    [
      'full of unknown words',
      { ...healthy, rows: healthy.rows.map((row) => ({ ...row, Status: 'QUITE' })) },
      /^40 of 40 rows cannot be read/,
    ],
    ['without its login', { ...healthy, headers: ['User Id', 'Email'] }, /lacks what is mapped/],
    ['without keys', { ...healthy, rows: healthy.rows.map((row) => ({ ...row, 'User Id': '' })) }, /holds no account/],
  ]
  test.each(firstOf(2, refused))(
    'refuses a list that is %s, and is well again afterwards',
    async (kind, list, reason) => {
      await using opened = await open(people, withGhost)
      await opened.compare()
      opened.show(list)

      if (kind === 'broken') await expect(opened.compare()).rejects.toThrow('cut')
      else await opened.compare()

      expect(await opened.failure()).toMatch(reason)
      expect(await opened.alerts()).toMatchObject([
        { code: 'refused', reason: expect.stringMatching(/could not be compared: /) },
      ])
      opened.show(healthy)
      await opened.compare()
      expect([await opened.causes(), await opened.failure(), await opened.alerts()]).toEqual([[], null, []])
    },
  )

  test('refuses each wrong list, and keeps what was found before', async () => {
    await using opened = await open(people, withGhost)
    await opened.compare()
    const outcomes: unknown[] = []
    for (const [kind, list] of refused) {
      opened.show(list)
      await opened.compare().catch((error: unknown) => error)
      outcomes.push([kind, await opened.failure(), await opened.causes()])
    }

    expect(outcomes).toEqual(
      refused.map(([kind, , reason]) => [kind, expect.stringMatching(reason), ['E0003 account_of_leaver']]),
    )
  })

  test('is refused until HR has stated somebody in every connection of people', async () => {
    await using opened = await open(people, withGhost)
    const acme = opened.sync.connections.values().next().value
    if (!acme) throw new Error('no connection')
    const connections = new Map([...opened.sync.connections, ['added', { ...acme, name: 'added' }]])
    const sync = { ...opened.sync, connections }

    await compareDirectory(sync, opened.directory, { always: true, signal })

    expect(await opened.causes()).toEqual([])
    expect(await opened.failure()).toMatch(/added: no export was accepted so far/)
    const { now } = opened.world.clock
    const list = { directory: 'list', accounts: [], asOf: now, now }
    await expect(compareGivenAccounts(sync, list)).rejects.toThrow(/no export was accepted so far/)
  })

  test('is refused while a connection has events, and the first export of its source waits', async () => {
    await using opened = await open(people, withGhost)
    const { db } = opened
    // As if only an event had been accepted so far.
    await db.updateTable('connections').set({ accepted_as_of: null, accepted_source: null }).execute()
    const [acme] = opened.sync.connections.values()
    if (!acme) throw new Error('no connection')
    const pushed = new Map([['acme', { ...acme, feeds: {} }]])

    await opened.compare()
    const whileWaiting = [await opened.causes(), await opened.failure()]
    await compareDirectory({ ...opened.sync, connections: pushed }, opened.directory, { always: true, signal })

    expect(whileWaiting).toEqual([[], expect.stringMatching(/acme: no export was accepted so far/)])
    expect(await opened.causes()).toEqual(['E0003 account_of_leaver'])
  })

  test('is refused if its numbers are of other people than its addresses', { tags: ['full'] }, async () => {
    const headers = ['User Id', 'Login', 'Status', 'Employee Number']
    const rows = people.map(({ id, email = '' }, index) => ({
      ...{ 'User Id': id, Login: email, Status: 'ACTIVE' },
      'Employee Number': people[(index + 1) % people.length]?.id ?? '',
    }))
    await using opened = await open(people, { headers, rows })

    await opened.compare()

    expect([await opened.causes(), await opened.failure()]).toEqual([
      [],
      expect.stringMatching(/^in 40 of 40 accounts, employeeNumber is the key of somebody else/),
    ])
  })

  test('counts a bad cell, and takes the account for an enabled one', { tags: ['full'] }, async () => {
    const rows = withGhost.rows.map((row, index) => (index === 2 ? { ...row, Status: 'QUITE' } : row))
    await using opened = await open(people, { ...withGhost, rows })

    await opened.compare()

    expect(await opened.causes()).toEqual(['E0003 account_of_leaver'])
    expect(await findComparison(opened.db, comparisonOfDirectory('accounts'))).toMatchObject({
      unreadable: 1,
      failure: null,
    })
  })

  test('leaves nothing of a directory that the configuration no longer has', async () => {
    await using opened = await open(people, withGhost)
    await opened.compare()
    await compareDirectories(opened.sync, { always: false, signal })
    const kept = await opened.causes()

    await compareDirectories({ ...opened.sync, directories: new Map() }, { always: false, signal })

    expect([kept, await opened.causes()]).toEqual([['E0003 account_of_leaver'], []])
    expect(await findComparison(opened.db, comparisonOfDirectory('accounts'))).toBeNull()
  })

  test('may lose some of its last accounts', async () => {
    await using opened = await open(people, healthy)
    await opened.compare()
    opened.show({ ...healthy, rows: healthy.rows.slice(0, 36) })

    await opened.compare()

    expect(await opened.failure()).toBeNull()
  })

  test('takes a changed scope for no cut list', { tags: ['full'] }, async () => {
    await using opened = await open(people, withGhost)
    await opened.compare()
    const { feed } = opened.directory
    const scoped = { ...feed.mapping, scope: '$contains(`User Id`, "00u1")' }
    const directory = { ...opened.directory, feed: { ...feed, mapping: scoped } }

    await compareDirectory(opened.sync, directory, { always: true, signal })

    const after = [await opened.failure(), (await listCoverage(opened.db))[0]?.people]
    opened.show({ ...withGhost, rows: withGhost.rows.slice(0, 10) })
    await compareDirectory(opened.sync, directory, { always: true, signal })
    expect(after).toEqual([null, 11])
    expect(await opened.failure()).toMatch(/may have been cut/)
  })

  test('is made again soon if it was ended, or if the list could not be had', { tags: ['full'] }, async () => {
    await using opened = await open(people, healthy)
    const nextAt = async () =>
      (await findComparison(opened.db, comparisonOfDirectory('accounts')))?.nextAt.toISOString()
    const { now } = opened.world.clock
    opened.show({ ...healthy, cut: new Failure('source_unreachable', 'no answer') })
    await opened.compare()
    const afterFailure = await nextAt()
    const ended = AbortSignal.abort()

    await compareDirectory(opened.sync, opened.directory, { always: true, signal: ended })

    expect([afterFailure, await nextAt()]).toEqual([
      new Date(now.getTime() + 15 * 60_000).toISOString(),
      now.toISOString(),
    ])
    expect(await opened.failure()).toBe('no answer')
  })

  test('is made again within an hour after an error that is not in the list', { tags: ['full'] }, async () => {
    await using opened = await open(people, { ...healthy, cut: new Error('bug') })
    const { now } = opened.world.clock
    const inAWeek = new Date(now.getTime() + 7 * 24 * 3600_000)
    const weekly = { ...opened.directory, nextAt: () => inAWeek }
    const nextAt = async () => (await findComparison(opened.db, comparisonOfDirectory('accounts')))?.nextAt

    await expect(compareDirectory(opened.sync, weekly, { always: true, signal })).rejects.toThrow('bug')
    const afterBug = await nextAt()
    opened.show({ ...healthy, rows: [] })
    await compareDirectory(opened.sync, weekly, { always: true, signal })

    expect([afterBug, await nextAt()]).toEqual([new Date(now.getTime() + 3600_000), inAWeek])
  })

  test('alerts about accounts, of which one person may have several', { tags: ['full'] }, async () => {
    const [ghost = {}] = withGhost.rows.slice(2)
    await using opened = await open(people, {
      ...withGhost,
      rows: [...withGhost.rows, { ...ghost, 'User Id': 'second' }],
    })
    await opened.compare()

    expect(await opened.alerts(1)).toMatchObject([{ reason: expect.stringMatching(/^2 accounts of people/) }])
  })

  test.each(
    firstOf(1, [
      ['the number', { Login: 'new@x.example', 'Employee Number': ' e0060' }],
      ['the address', { Login: 'E60@acme.example', 'Employee Number': '' }],
    ]),
  )('says where HR has a row with %s that is not accepted, and waits with the alert', async (_what, own) => {
    const headers = ['User Id', 'Login', 'Status', 'Employee Number']
    const rows = people.map(({ email = '' }, index) => ({ 'User Id': `u${index}`, Login: email, Status: 'ACTIVE' }))
    const stranger = { 'User Id': 'x', Status: 'ACTIVE', ...own }
    await using opened = await open(people, { headers, rows: [...rows.toSpliced(2, 1), stranger] })
    // The plan of so many joiners is held.
    await opened.world.night([...people, ...staff(80).slice(40)])

    await opened.compare()

    const unknown = (await opened.findings()).find(({ cause }) => cause === 'account_unknown')
    expect(unknown?.evidence.note).toBe('row_waits')
    const early = await opened.alerts()
    opened.world.clock.now = new Date(opened.world.clock.now.getTime() + 49 * 3600_000)
    expect([early, await opened.alerts()]).toMatchObject([[], [{ code: null }]])
  })

  test('is made although another one fails unexpectedly, and names those that others make', {
    tags: ['full'],
  }, async () => {
    await using opened = await open(people, withGhost)
    const broken = directoryOf(() => opened.world.clock.now, { ...healthy, cut: new Error('bug') }).directory
    const directories = new Map([
      ['broken', { ...broken, name: 'broken' }],
      ['accounts', opened.directory],
      ['taken', { ...broken, name: 'taken' }],
    ])
    await claimComparison(opened.db, {
      compared: comparisonOfDirectory('taken'),
      always: true,
      now: opened.world.clock.now,
    })

    const others = await compareDirectories({ ...opened.sync, directories }, { always: true, signal })

    expect(others).toEqual(['taken'])
    expect(await opened.causes()).toEqual(['E0003 account_of_leaver'])
  })

  test('follows a schedule that was changed', { tags: ['full'] }, async () => {
    await using opened = await open(people, withGhost)
    const inDays = (days: number) => ({
      ...opened.sync,
      directories: new Map([
        ['accounts', { ...opened.directory, nextAt: (from: Date) => new Date(from.getTime() + days * 24 * 3600_000) }],
      ]),
    })
    await compareDirectories(inDays(30), { always: false, signal })
    opened.show(healthy)
    await compareDirectories(inDays(1), { always: false, signal })
    opened.world.clock.now = new Date(opened.world.clock.now.getTime() + 25 * 3600_000)

    await compareDirectories(inDays(1), { always: false, signal })

    expect(await opened.causes()).toEqual([])
  })

  test('reads addresses whatever separates them, of both rows of an account, and numbers in any case', {
    tags: ['full'],
  }, async () => {
    const headers = ['User Id', 'Login', 'Status', 'Aliases', 'Employee Number']
    const rows = people.map(({ id }, index) => ({
      ...{ 'User Id': `u${index}`, Login: `x${index}`, Status: 'ACTIVE', Aliases: '' },
      'Employee Number': id.toLowerCase(),
    }))
    const [first, second] = people
    const changed = rows.map((row, index) => {
      if (index === 0) return { ...row, Aliases: `SIP:a@b.example, smtp:${first?.email}`, 'Employee Number': '' }
      return index === 1 ? { ...row, Aliases: 'other@acme.example', 'Employee Number': '' } : row
    })
    const again = {
      'User Id': 'u1',
      Login: 'x1',
      Status: 'ACTIVE',
      Aliases: second?.email ?? '',
      'Employee Number': '',
    }
    await using opened = await open(people, { headers, rows: [...changed, again] })

    await opened.compare()

    expect(await opened.causes()).toEqual(['E0003 account_of_leaver'])
  })

  test('is made when it is due, and once', async () => {
    await using opened = await open(people, withGhost)
    const due = () => compareDirectories(opened.sync, { always: false, signal })
    await due()
    opened.show(healthy)
    await due()
    const early = await opened.causes()

    opened.world.clock.now = new Date(opened.world.clock.now.getTime() + 3600_000)
    await due()

    expect(early).toEqual(['E0003 account_of_leaver'])
    expect(await opened.causes()).toEqual([])
  })

  test('forgets a person with their findings', { tags: ['full'] }, async () => {
    await using opened = await open(people, withGhost)
    await opened.compare()

    const forgetting = {
      connection: 'acme',
      identityId: 'E0003',
      reason: 'asked',
      by: 'ana',
      now: opened.world.clock.now,
      today: '2026-11-20',
    }
    const other = {
      connection: 'accounts',
      personConnection: 'acme',
      identityId: 'E0009',
      personId: null,
      canReset: false,
    }
    const evidence = { values: { emails: [people[2]?.email?.toUpperCase() ?? '', 'other@acme.example'] } }
    await storeFindings(opened.db, [{ ...other, cause: 'account_missing', evidence }], {
      comparison: 1,
      at: new Date(),
    })
    await forgetPerson(opened.db, forgetting)

    const [rest, ...more] = await opened.findings()
    expect([rest?.subject, rest?.evidence.values?.emails, more]).toEqual(['E0009', ['other@acme.example'], []])
  })
})

describe('a given list', () => {
  const given = (more: object) =>
    effectiveOperations.compareAccounts.body.safeParse({
      ...{ directory: 'x', asOf: '2026-11-20T05:00:00Z', accounts: [{ id: 'a', isEnabled: true }], ...more },
    }).success

  test('needs an instant and an account', () => {
    expect([given({}), given({ asOf: '27/11/2026' }), given({ accounts: [] })]).toEqual([true, false, false])
  })

  test('of the future is compared as of now, and an old one is refused', async () => {
    const later = { id: 'E0003', leavingDate: '2026-11-24' }
    await using opened = await open(
      change(staff(40), later),
      listOf('okta', staff(40), () => true),
    )
    const { now } = opened.world.clock
    const none = { login: null, firstName: null, lastName: null, lastSignInAt: null }
    const ghost = { ...none, id: 'a', emails: [], isEnabled: true, employeeNumber: 'E0003' }
    const list = { directory: 'list', accounts: [ghost], now }

    const { findings } = await compareGivenAccounts(opened.sync, { ...list, asOf: new Date('2099-01-01T00:00:00Z') })

    expect(findings.filter(({ cause }) => cause === 'account_of_leaver')).toEqual([])
    const old = { ...list, asOf: new Date('2020-01-01T00:00:00Z') }
    await expect(compareGivenAccounts(opened.sync, old)).rejects.toThrow(/days old/)
  })
})

describe('a comparison with a list', () => {
  const okta = shapes.okta as Shape
  /** Somebody whom HR does not know, in a list with everybody else. */
  const listWith = (login: string): List => ({
    headers: okta.headers,
    rows: [
      ...staff(10).map((_person, index) => okta.row({ index, email: `e${index + 1}@acme.example`, isEnabled: true })),
      { 'User Id': 'x1', Login: login, Email: login, Status: 'ACTIVE', 'Last Login': '' },
    ],
  })

  test('is dropped if another process has overtaken it', async () => {
    const company = await open(staff(10), listWith('temp@x.example'))
    const { connector } = company.directory.feed
    const compared = comparisonOfDirectory('accounts')
    const slow: Connector = {
      ...connector,
      open: async (...input) => {
        const now = new Date(company.world.clock.now.getTime() + 60 * 60_000)
        await claimComparison(company.db, { compared, always: true, now })
        return await connector.open(...input)
      },
    }
    const directory = { ...company.directory, feed: { ...company.directory.feed, connector: slow } }

    const result = await compareDirectory(company.sync, directory, { always: true, signal })

    expect([result, await company.causes()]).toEqual([null, []])
    const { now } = company.world.clock
    expect(await claimComparison(company.db, { compared, always: true, now })).toBeNull()
    await company.world[Symbol.asyncDispose]()
  })

  test('stores texts with half a character or NUL without it', { tags: ['full'] }, async () => {
    await using company = await open(staff(10), listWith('temp@x.example'))
    const about = { connection: 'accounts', personId: null, canReset: false, identityId: null, subject: 'account 1' }
    const evidence = { values: { logins: ['te\0mp\ud83d'] } }

    await storeFindings(company.db, [{ ...about, cause: 'account_unknown', evidence }], {
      comparison: 1,
      at: new Date(),
    })

    const [finding] = await company.findings()
    expect(finding?.evidence.values?.logins).toEqual(['te\ufffdmp\ufffd'])
  })
})
