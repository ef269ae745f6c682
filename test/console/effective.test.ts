import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Connector } from '../../src/connectors/connector.ts'
import { Guards } from '../../src/identity/guards/limits.ts'
import { Mapping } from '../../src/identity/mapping/mapping.ts'
import {
  claimComparison,
  comparisonOfDirectory,
  endComparison,
  storeCoverage,
} from '../../src/store/effective/comparisons.ts'
import { type NewFinding, removeOfOthers, storeFindings } from '../../src/store/effective/findings.ts'
import type { Directory } from '../../src/sync/context/context.ts'
import { createVisitor, openConsole } from '../helpers/console.ts'
import { type Host, openWorld, staff, startHost, type World } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const connector: Connector = {
  open: () => Promise.reject(new Error('nothing here reads the list')),
}
const rules = { traps: [], timeZone: 'UTC', absence: 'ignore', graceRuns: 1, future: 'defer' } as const
const directory: Directory = {
  name: 'okta',
  feed: { ...rules, connector, mapping: Mapping.parse({ fields: { identityId: 'id' } }) },
  guards: Guards.parse({}),
  nextAt: () => null,
}

const about = { connection: 'okta', personId: null, canReset: false } as const
const ghosts: readonly NewFinding[] = [
  {
    ...{ ...about, personConnection: 'acme', identityId: 'E0003', cause: 'account_of_leaver' },
    evidence: {
      leftAt: '2026-01-31T00:00:00.000Z',
      lastSignInAt: '2026-11-04T09:00:00Z',
      values: { logins: ['p3@x.example'] },
    },
  },
  {
    ...{ ...about, identityId: null, subject: 'account 0123456789abcdef', cause: 'account_unknown' },
    evidence: { lastSignInAt: null, candidateKeys: ['E0004'], values: { logins: ['temp@x.example'] } },
  },
]

/** A company whose directory was compared; its newest list was refused. */
async function open() {
  const { client } = await host.tenant()
  const mapping = Mapping.parse({ fields: { identityId: 'Worker ID', email: 'Email', firstName: 'First Name' } })
  const plain = await openWorld({ client, feed: { mapping } })
  await plain.night(staff(10))
  const world: World = { ...plain, sync: { ...plain.sync, directories: new Map([['okta', directory]]) } }
  const { db } = world.sync.store
  const compared = comparisonOfDirectory('okta')
  const { now } = world.clock
  await claimComparison(db, { compared, always: true, now })
  await storeFindings(db, ghosts, { comparison: 1, at: now })
  await storeCoverage(db, [{ connection: 'okta', people: 11, effective: 9, at: now }])
  await endComparison(db, {
    compared,
    number: 1,
    nextAt: now,
    comparedAt: now,
    syncedAt: now,
    unreadable: 1,
    failure: null,
  })
  await endComparison(db, { compared, number: 1, nextAt: now, failure: 'the list may have been cut' })
  const ofPlatform = { compared: world.sync.platform.baseUrl, now }
  await claimComparison(db, { ...ofPlatform, always: true })
  await endComparison(db, { ...ofPlatform, number: 1, nextAt: now, failure: 'permission_missing' })
  const console = await openConsole(world)
  return {
    db,
    see: async (role: string, path: string) => (await createVisitor(console.url, `ana.${role}`).get(path)).text,
    async [Symbol.asyncDispose]() {
      await console[Symbol.asyncDispose]()
      await plain[Symbol.asyncDispose]()
    },
  }
}

test('the page of everyone has the accounts of a directory, with what helps', async () => {
  await using company = await open()

  const page = await company.see('operator', '/effective?connection=okta')

  expect(page).toMatch(/Account of a leaver<.*Account without a person in HR</s)
  expect(page).toMatch(/11 accounts.*2 enabled accounts of leavers.*1 row could not be read/s)
  expect(page).toContain('The newest list could not be compared: the list may have been cut.')
  expect(page).toMatch(/Person 3.*E0003.*left 2026-01-31 · last sign-in 2026-11-04 09:00 UTC · p3@x\.example/s)
  expect(page).toMatch(
    /temp@x\.example.*no sign-in is known · the name matches key E0004, but a name alone proves nothing/s,
  )
  expect(page).toContain('connection=acme&amp;key=E0003')
  expect(await company.see('operator', '/effective?connection=acme')).not.toContain('E0003')
})

test('whoever may not see personal values sees keys and digests only', async () => {
  await using company = await open()

  const page = await company.see('viewer', '/effective')

  expect(page).toMatch(/E0003.*account 0123456789abcdef/s)
  expect(page).not.toMatch(/Person 3|x\.example/)
})

test('a comparison that never succeeded says why, and asserts nothing about people', async () => {
  await using company = await open()

  const page = await company.see('operator', '/effective?connection=acme')

  expect(page).toContain('Nobody has been compared with the platform yet.')
  expect(page).toContain('The newest comparison failed: the API key lacks a permission (403).')
  expect(page).not.toContain('status matches HR')
  const failure = 'Nobody has been compared with the platform yet: the API key lacks a permission (403).'
  expect(await company.see('viewer', '/')).toContain(failure)
})

test('the overview says when each connection was compared', async () => {
  await using company = await open()
  const at = new Date('2026-11-17T03:00:00.000Z')
  await storeCoverage(company.db, [{ connection: 'acme', people: 10, effective: 9, at }])

  expect(await company.see('viewer', '/')).toMatch(/9 of 10 delivered people; .*Compared <time [^>]*>3 days ago</)
})

test('a directory that was never compared asserts nothing about its accounts', async () => {
  await using company = await open()
  await removeOfOthers(company.db, ['acme'])

  const page = await company.see('operator', '/effective?connection=okta')

  expect(page).toContain('No findings, because nobody has been compared yet.')
  expect(page).not.toContain('compared with the platform')
})

test('a last sign-in that is no time is shown with values only', async () => {
  await using company = await open()
  const [ghost] = ghosts as [NewFinding]
  const evidence = { ...ghost.evidence, lastSignInAt: 'Ana Okoro' }
  await storeFindings(company.db, [{ ...ghost, evidence }], { comparison: 2, at: new Date() })

  expect(await company.see('operator', '/effective')).toContain('last sign-in Ana Okoro')
  expect(await company.see('viewer', '/effective')).not.toContain('Ana Okoro')
})

test('the form of a reset names only what a reset mends', async () => {
  await using company = await open()
  const person = { connection: 'acme', identityId: 'E0003' } as const
  const evidence = {
    ...{ expected: 'CURRENT_CONTRACTOR', shown: 'SPECIAL_FORMER_EMPLOYEE', fields: ['startedAt', 'employmentStatus'] },
    dates: [{ field: 'startedAt', expected: null, shown: '2020-01-06T00:00:00.000Z' }],
  }
  const findings: readonly NewFinding[] = [
    { ...person, cause: 'set_by_hand', personId: 3, canReset: true, evidence },
    { ...person, cause: 'duplicate_person', personId: 4, canReset: false, evidence: { otherPeople: [4] } },
  ]
  await storeFindings(company.db, findings, { comparison: 1, at: new Date() })

  const form = await company.see('operator', '/effective/fix?connection=acme&person=E0003')

  const text =
    'data: current contractor · shown: former employee, set on purpose · edited: first day, employment status'
  expect(form).toContain(text)
  expect(form).toContain('first day is none in HR, and is shown as 2020-01-06')
  expect(form).not.toContain('a second person')
})
