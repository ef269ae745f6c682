import { describe, expect, test } from 'vitest'
import { columnsIn } from '../../../src/connectors/expressions/check.ts'
import { withExpressions } from '../../../src/connectors/expressions/expressions.ts'
import { scimMapping } from '../../../src/connectors/scim/mapping.ts'
import { asInactive, readsGroups, toPerson } from '../../../src/connectors/scim/person.ts'
import type { ScimResource } from '../../../src/connectors/scim/resource.ts'
import { ScimSource, scimEventSettings } from '../../../src/connectors/scim/settings.ts'
import { readEvents } from '../../../src/connectors/webhook/events.ts'
import {
  compileMapping,
  expressionsOf,
  Mapping,
  type MappingPatch,
  mergePreset,
} from '../../../src/identity/mapping/mapping.ts'
import type { StoredEvent } from '../../../src/identity/record.ts'
import { enterpriseSchema } from '../../helpers/sources/scim-server.ts'

const custom = 'urn:acme:scim:2.0:User'
const surroundings = { id: 'u1', managerKey: undefined, groups: null }
const mappingWith = (patch: MappingPatch = {}) => Mapping.parse(mergePreset(scimMapping, patch))

const ana: ScimResource = {
  userName: 'ana',
  externalId: 'E1',
  name: { givenName: 'Ana', familyName: 'Okoro' },
  title: 'Engineer',
  emails: [
    { type: 'home', value: 'ana@home.example' },
    { type: 'work', value: 'ana@acme.example', primary: true },
  ],
  [enterpriseSchema]: { employeeNumber: '17', manager: { value: 'm1', displayName: 'Bo' } },
  [custom]: { startDate: '2026-01-05' },
}

const columnsRead = (mapping: Mapping) => ({
  mapping,
  inExpressions: expressionsOf(mapping).flatMap(({ text }) => columnsIn(text)),
})

/** What the mapping makes of a user once its event is read. */
async function observed(resource: ScimResource, patch: MappingPatch = {}, around: Partial<typeof surroundings> = {}) {
  const mapping = mappingWith(patch)
  const { record } = toPerson(columnsRead(mapping), resource, { ...surroundings, ...around })
  const event: StoredEvent = {
    ...{ id: '1', eventId: null, signedAt: null, receivedAt: '2026-11-20T03:00:00.000Z' },
    body: Buffer.from(JSON.stringify(record)),
  }
  const read = readEvents([event], scimEventSettings(ScimSource.parse({ type: 'scim' })), { now: new Date() })
  const reading = withExpressions(read, expressionsOf(mapping))
  const compiled = compileMapping(mapping, reading.headers, { sparse: true })
  if (!compiled.ok) throw new Error(compiled.missing.join())
  for await (const rows of reading.rows) for (const row of rows) return compiled.map(row)
  throw new Error('no row')
}

describe('a user as a person', () => {
  test('has its fields, and the primary address', async () => {
    expect(await observed(ana)).toMatchObject({
      identityId: 'E1',
      fields: {
        email: 'ana@acme.example',
        firstName: 'Ana',
        lastName: 'Okoro',
        jobTitle: 'Engineer',
        managerId: 'm1',
        managerName: 'Bo',
      },
      statesEmployed: true,
      statesDeparture: false,
    })
  })

  test('that is not active has left', async () => {
    expect(await observed({ ...ana, active: false })).toMatchObject({ statesEmployed: false, statesDeparture: true })
  })

  test('loses what the user no longer has', async () => {
    const { title: _title, emails: _emails, name: _name, ...less } = ana

    expect(await observed({ ...less, [enterpriseSchema]: { employeeNumber: '17' } })).toMatchObject({
      fields: { email: null, firstName: null, lastName: null, jobTitle: null, managerId: null, managerName: null },
    })
  })

  test('has the address of work where none is primary', async () => {
    const emails: readonly ScimResource[] = [
      { type: 'home', value: 'ana@home.example' },
      { value: 'a@b.example' },
      { type: 'work', value: 'w@acme.example' },
    ]

    expect(await observed({ ...ana, emails })).toMatchObject({ fields: { email: 'w@acme.example' } })
  })

  test('loses what an expression reads and the user no longer has', async () => {
    const { emails: _emails, ...less } = ana
    const email = { expression: '`emails.0.type` = "work" ? `emails.0.value` : ""', optional: true }

    expect(await observed(ana, { fields: { email } })).toMatchObject({ fields: { email: 'ana@acme.example' } })
    expect(await observed(less, { fields: { email } })).toMatchObject({ fields: { email: null } })
  })

  test('whose mapped attribute has two spellings is refused', () => {
    const mapping = mappingWith({ fields: { startedAt: `${custom}.startDate` } })

    expect(() =>
      toPerson(columnsRead(mapping), { ...ana, [custom]: { startDate: 'a', start_date: 'b' } }, surroundings),
    ).toThrow(expect.objectContaining({ status: 400, scimType: 'invalidValue' }))
  })

  test('loses a value of an extension that is gone', async () => {
    const patch = { fields: { startedAt: `${custom}.startDate`, jobTitle: { firstOf: [`${custom}.role`, 'title'] } } }
    const { [custom]: _custom, ...less } = ana

    expect(await observed(ana, patch)).toMatchObject({
      fields: { startedAt: '2026-01-05T00:00:00.000Z', jobTitle: 'Engineer' },
    })
    expect(await observed(less, patch)).toMatchObject({ fields: { startedAt: null, jobTitle: 'Engineer' } })
  })

  test('is named by the column that the mapping says', async () => {
    const patch = {
      fields: {
        identityId: `${enterpriseSchema}.employeeNumber`,
        isContractor: { column: 'userType', map: { Contractor: true, Employee: false } },
      },
    }

    expect(await observed({ ...ana, userType: 'Contractor' }, patch)).toMatchObject({
      identityId: '17',
      fields: { isContractor: true },
    })
  })

  test('names its manager by key', async () => {
    expect(await observed(ana, {}, { managerKey: 'E9' } as object)).toMatchObject({ fields: { managerId: 'E9' } })
    expect(await observed(ana, {}, { managerKey: null } as object)).toMatchObject({ fields: { managerId: null } })
  })

  test('has no key without the column', () => {
    const { externalId: _externalId, ...less } = ana

    expect(toPerson(columnsRead(mappingWith()), less, surroundings).identityId).toBeNull()
    expect(toPerson(columnsRead(mappingWith()), ana, surroundings).identityId).toBe('E1')
    expect(asInactive(toPerson(columnsRead(mappingWith()), ana, surroundings).record)).toMatchObject({
      externalId: 'E1',
      active: false,
    })
  })

  test.each<[string, ScimResource]>([
    ['a NUL character', { ...ana, title: 'a\0b' }],
    ['half a character', { ...ana, title: '\ud800' }],
    ['too many values', { ...ana, [custom]: { many: Array.from({ length: 20_000 }, (_, i) => i) } }],
    ['too long a name', { ...ana, [custom]: { ['a'.repeat(300)]: 1 } }],
  ])('that holds %s is refused', (_, resource) => {
    expect(() => toPerson(columnsRead(mappingWith()), resource, surroundings)).toThrow(
      expect.objectContaining({ status: 400, scimType: 'invalidValue' }),
    )
  })
})

test.each<[MappingPatch, boolean]>([
  [{}, false],
  [{ fields: { isContractor: { expression: '$contains(groups, "Contractors")' } } }, true],
  [{ fields: { jobTitle: 'groups' } }, true],
])('whether %j reads groups', (patch, expected) => {
  expect(readsGroups(mappingWith(patch))).toBe(expected)
})
