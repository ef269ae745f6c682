import { sql } from 'kysely'
import { describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { enterpriseSchema, oktaUser, openScim, patchOf, userSchema } from '../../helpers/sources/scim-server.ts'

type Scim = Awaited<ReturnType<typeof openScim>>

async function create(scim: Scim, login: string, more: object = {}) {
  return (await scim.call({ method: 'POST', path: '/Users', body: oktaUser(login, more) })).body
}

const patch = (scim: Scim, id: string, ...operations: object[]) =>
  scim.call({ method: 'PATCH', path: `/Users/${id}`, body: patchOf(...operations) })

const deactivate = { op: 'replace', path: 'active', value: false }

describe.each(databases)('changes on $name', ({ createDatabase }) => {
  test('a change is an event once it is answered, with the time of its store', async () => {
    const clock = { now: new Date('2026-11-20T03:00:00.000Z') }
    await using scim = await openScim({ createDatabase, now: () => clock.now })

    const { id } = await create(scim, 'ana@acme.example')
    clock.now = new Date('2026-11-20T02:59:00.000Z')
    await patch(scim, id, { op: 'replace', path: 'title', value: 'CEO' })
    clock.now = new Date('2026-11-20T01:00:00.000Z')
    await patch(scim, id, deactivate)
    await scim.call({ method: 'DELETE', path: `/Users/${id}` })

    const rows = await scim.store.db.selectFrom('inbox').selectAll().orderBy('id').execute()
    expect(rows.map(({ received_at: at }) => at.toISOString())).toEqual([
      '2026-11-20T03:00:00.000Z',
      // The clock of another process is behind: the order stays.
      '2026-11-20T03:00:00.001Z',
      // A clock that was far ahead was set back: the deactivation stays the newest.
      '2026-11-20T03:00:00.002Z',
      '2026-11-20T03:00:00.003Z',
    ])
    expect(rows.map((row) => row.event_id)).toEqual([id, id, id, id])
    expect(await scim.events()).toMatchObject([
      { externalId: '00u-ana', active: true, title: null },
      { externalId: '00u-ana', active: true, title: 'CEO' },
      { externalId: '00u-ana', active: false, title: 'CEO' },
      { externalId: '00u-ana', active: false },
    ])
    expect(scim.loggedEvents).toEqual(
      [null, 60, 7200, null].flatMap((seconds) => [
        { event: 'scim.stored', connection: 'hr', stored: 1 },
        // Said again only when it is far more, as the last change shows, which is as late as the one before.
        ...(seconds === null ? [] : [{ event: 'scim.clock_behind', connection: 'hr', seconds }]),
      ]),
    )
  })

  test('of many changes at once none is lost, and one user has a name', async () => {
    await using scim = await openScim({ createDatabase })

    const answers = await Promise.all(
      Array.from({ length: 60 }, (_, i) =>
        scim.call({ method: 'POST', path: '/Users', body: oktaUser(`u${i % 20}@acme.example`) }),
      ),
    )

    const statuses = Map.groupBy(answers, ({ status }) => status)
    expect([statuses.get(201)?.length, statuses.get(409)?.length]).toEqual([20, 40])
    expect(await scim.events()).toHaveLength(20)
    expect((await scim.call({ path: '/Users' })).body.totalResults).toBe(20)
  })
})

describe('a user whose key changes', () => {
  test('makes the person of the former key leave, in the same event', async () => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')

    await patch(scim, id, { op: 'replace', path: 'externalId', value: 'E1' })

    expect((await scim.events()).slice(1)).toMatchObject([
      [
        { externalId: '00u-ana', active: false },
        { externalId: 'E1', active: true },
      ],
    ])
  })

  test('keeps the key while it is active, and may lose it with its departure', async () => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')
    const lose = { op: 'remove', path: 'externalId' }
    const { externalId: _externalId, ...withoutKey } = oktaUser('ana@acme.example', { title: 'CEO' }) as {
      externalId: string
    }

    const replaced = await scim.call({ method: 'PUT', path: `/Users/${id}`, body: withoutKey })
    const blanked = await scim.call({ method: 'PUT', path: `/Users/${id}`, body: { ...withoutKey, externalId: '' } })
    const removed = await patch(scim, id, lose)
    const left = await patch(scim, id, lose, deactivate)

    expect(replaced).toMatchObject({ status: 200, body: { externalId: '00u-ana', title: 'CEO' } })
    for (const refused of [blanked, removed])
      expect(refused).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } })
    expect(left.status).toBe(200)
    expect((await scim.events()).slice(1)).toMatchObject([
      { externalId: '00u-ana', active: true, title: 'CEO' },
      { externalId: '00u-ana', active: false },
    ])
  })

  const employeeNumber = `${enterpriseSchema}.employeeNumber`
  const numbered = { [enterpriseSchema]: { employeeNumber: '1001', department: 'Ops' } }

  test.each([
    ['an extension', { identityId: { firstOf: [employeeNumber, 'externalId'] } }, numbered],
    ['an extension alone', { identityId: { column: employeeNumber } }, numbered],
    [
      'two attributes with the same value',
      { identityId: { firstOf: ['nickName', 'externalId'] } },
      { nickName: '00u-ana' },
    ],
    ['several attributes', { identityId: { template: '{nickName}-{title}' } }, { nickName: 'A', title: 'B' }],
  ])('keeps a key that is read from %s', async (_, fields, more) => {
    await using scim = await openScim({ mapping: { fields } })
    const { id } = await create(scim, 'ana@acme.example', more)
    const { identity_id: key } = await scim.store.db.selectFrom('scim_resources').selectAll().executeTakeFirstOrThrow()

    const body = { ...oktaUser('ana@acme.example'), externalId: undefined, displayName: 'Ana' }
    const bare = await scim.call({ method: 'PUT', path: `/Users/${id}`, body })
    const named = await scim.call({ method: 'PUT', path: `/Users/${id}`, body: { ...body, externalId: '00u-ana' } })

    const stored = await scim.store.db.selectFrom('scim_resources').selectAll().executeTakeFirstOrThrow()
    expect([bare.status, named.status]).toEqual([200, 200])
    expect(stored.identity_id).toBe(key)
    expect((await scim.events()).map((event) => Array.isArray(event))).toEqual([false, false, false])
    expect(JSON.stringify(stored.body)).not.toContain('Ops')
  })

  test.each([
    ['another value below the URN of the schema', { [userSchema]: { externalId: 'E2' } }, 200, 'E2'],
    ['none below the URN of the schema', { [userSchema]: { externalId: null } }, 400, '00u-ana'],
    ['null', { EXTERNALID: null }, 400, '00u-ana'],
  ])('does not keep a key in place of %s', async (_, stated, status, key) => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')

    const body = { ...oktaUser('ana@acme.example'), externalId: undefined, ...stated }
    const answer = await scim.call({ method: 'PUT', path: `/Users/${id}`, body })

    expect(answer.status).toBe(status)
    expect((await scim.call({ path: `/Users/${id}` })).body.externalId).toBe(key)
  })

  test.each([
    ['its own name', {}, 200],
    ['its own name in other case', { displayName: 'ANA OKORO' }, 200],
    ['another name', { name: { givenName: 'Alan', familyName: 'Okoro' } }, 400],
    ['no name', { name: null, displayName: null }, 400],
    ['another name and its key', { name: { givenName: 'Ann' }, externalId: '00u-ana' }, 200],
    ['another name and another key', { name: { givenName: 'Alan' }, externalId: '00u-alan' }, 200],
  ])(
    'keeps the key when it becomes active again only if it is certainly the same person: %s',
    async (_, more, status) => {
      await using scim = await openScim()
      const { id } = await create(scim, 'ana@acme.example')
      await patch(scim, id, deactivate)
      const body = { ...oktaUser('ana@acme.example'), externalId: undefined, ...more }
      const path = `/Users/${id}`

      // A name that arrives before the user is active again does not make it the same person.
      const renamed = await scim.call({ method: 'PUT', path, body: { ...body, active: false } })
      const fresh = await create(scim, 'bo@acme.example')
      await patch(scim, fresh.id, deactivate)
      const other = { ...body, userName: 'bo@acme.example' }
      const answers = [
        await scim.call({ method: 'PUT', path, body }),
        ...(status === 400 ? [await scim.call({ method: 'PUT', path: `/Users/${fresh.id}`, body: other })] : []),
      ]

      expect(renamed.status).toBe(200)
      for (const answer of answers) expect(answer.status).toBe(status)
      for (const { body: refused } of status === 400 ? answers : [])
        expect(refused).toMatchObject({ scimType: 'invalidValue', detail: expect.stringContaining('"externalId"') })
      expect(answers.at(1)?.body.detail).toEqual(status === 400 ? expect.stringContaining('another person') : undefined)
      expect((await scim.call({ path })).body.active).toBe(status === 200)
    },
  )

  test('does not keep a key of an extension that is null', async () => {
    await using scim = await openScim({ mapping: { fields: { identityId: { column: employeeNumber } } } })
    const { id } = await create(scim, 'ana@acme.example', numbered)

    const body = oktaUser('ana@acme.example', { [enterpriseSchema]: null })

    expect((await scim.call({ method: 'PUT', path: `/Users/${id}`, body })).status).toBe(400)
  })

  test.each([
    [{}, '"externalId"'],
    [{ identityId: { column: `${enterpriseSchema}.employeeNumber` } }, `"${enterpriseSchema}.employeeNumber"`],
    [{ identityId: { firstOf: ['nickName', 'title'] } }, '"nickName", "title"'],
    [{ identityId: { template: '{nickName}-{title}' } }, '"nickName", "title"'],
  ])('is refused without one, unless it is not active: %j', async (fields, names) => {
    await using scim = await openScim({ mapping: { fields } })
    const body = oktaUser('ana@acme.example', { externalId: null })

    const refused = await scim.call({ method: 'POST', path: '/Users', body })
    const inactive = await scim.call({ method: 'POST', path: '/Users', body: { ...body, active: false } })
    const activated = await patch(scim, inactive.body.id, { op: 'replace', path: 'active', value: true })

    expect(refused).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } })
    expect(refused.body.detail).toBe(
      `the user has no key, which is read from ${names}: have it sent for everybody, or have Rollcall map another attribute as identityId`,
    )
    expect([inactive.status, activated.status]).toEqual([201, 400])
    expect(await scim.events()).toEqual([])
  })

  test('that is a column of its own follows that column, and its spelling does not matter where the mapping says so', async () => {
    const mapping = { fields: { identityId: { column: 'userName', lowercase: true } } }
    await using scim = await openScim({ mapping })
    const { id } = await create(scim, 'ana@acme.example')

    await patch(scim, id, { op: 'replace', path: 'userName', value: 'ANA@acme.example' })
    await patch(scim, id, { op: 'replace', path: 'externalId', value: 'E1' })
    await patch(scim, id, { op: 'replace', path: 'userName', value: 'bo@acme.example' })

    const events = await scim.events()
    expect(events.map((event) => Array.isArray(event))).toEqual([false, false, false, true])
  })
})

describe('a departure that takes the key with it', () => {
  const lose = { op: 'remove', path: 'externalId' }
  const repeats: readonly (readonly [string, (scim: Scim, id: string) => Promise<{ readonly status: number }>])[] = [
    ['the same patch', (scim, id) => patch(scim, id, lose, deactivate)],
    ['a deactivation', (scim, id) => patch(scim, id, deactivate)],
    [
      'a replacement',
      (scim, id) =>
        scim.call({
          method: 'PUT',
          path: `/Users/${id}`,
          body: oktaUser('ana@acme.example', { externalId: '', active: false }),
        }),
    ],
    ['a deletion', (scim, id) => scim.call({ method: 'DELETE', path: `/Users/${id}` })],
  ]

  test.each(repeats)('is an event again with %s', async (_, repeat) => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')

    await patch(scim, id, lose, deactivate)
    const first = await scim.events()
    const { status } = await repeat(scim, id)

    expect([200, 204]).toContain(status)
    expect(first).toMatchObject([{ active: true }, { externalId: '00u-ana', active: false }])
    expect((await scim.events()).slice(2)).toMatchObject([{ externalId: '00u-ana', active: false }])
  })

  test('needs the key again to be taken back', async () => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')
    await patch(scim, id, lose, deactivate)
    const activate = { op: 'replace', path: 'active', value: true }

    const without = await patch(scim, id, activate)
    const back = await patch(scim, id, activate, { op: 'add', path: 'externalId', value: '00u-ana' })

    expect([without.status, back.status]).toEqual([400, 200])
    expect((await scim.events()).slice(2)).toMatchObject([{ externalId: '00u-ana', active: true }])
  })
})

describe('a user that leaves or has left under another name', () => {
  const ben = { name: { givenName: 'Ben', familyName: 'Ito' }, displayName: 'Ben Ito' }
  const renamed = [
    { op: 'replace', path: 'name.givenName', value: 'Ben' },
    { op: 'replace', path: 'name.familyName', value: 'Ito' },
    { op: 'replace', path: 'displayName', value: 'Ben Ito' },
  ]
  const activate = { op: 'replace', path: 'active', value: true }
  const put = (scim: Scim, id: string, more: object) =>
    scim.call({
      method: 'PUT',
      path: `/Users/${id}`,
      body: oktaUser('ana@acme.example', { ...ben, externalId: undefined, ...more }),
    })
  type Step = (scim: Scim, id: string) => Promise<{ readonly status: number }>
  const steps: readonly (readonly [string, Step, Step])[] = [
    ['PUT with the departure', (scim, id) => put(scim, id, { active: false }), (scim, id) => put(scim, id, {})],
    [
      'PATCH with the departure',
      (scim, id) => patch(scim, id, deactivate, ...renamed),
      (scim, id) => patch(scim, id, activate),
    ],
    [
      'PATCH of the userName with the departure',
      (scim, id) => patch(scim, id, deactivate, { op: 'replace', value: { userName: 'ben@acme.example' } }),
      (scim, id) => patch(scim, id, activate),
    ],
    [
      'PATCH after the departure',
      async (scim, id) => {
        await patch(scim, id, deactivate)
        return await patch(scim, id, ...renamed)
      },
      (scim, id) => patch(scim, id, activate),
    ],
    [
      'PATCH with the return',
      (scim, id) => patch(scim, id, deactivate),
      (scim, id) => patch(scim, id, activate, ...renamed),
    ],
  ]

  test.each(steps)('leaves under its key, and needs it again to return: %s', async (_, leave, comeBack) => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')

    const left = await leave(scim, id)
    const events = (await scim.events()).slice(1)
    const refused = await comeBack(scim, id)
    const back = await put(scim, id, { externalId: 'E-ben' })

    expect(left.status).toBe(200)
    for (const event of events) expect(event).toMatchObject({ externalId: '00u-ana', active: false })
    expect(events.length).toBeGreaterThan(0)
    expect(refused).toMatchObject({ status: 400, body: { scimType: 'invalidValue' } })
    expect(back.status).toBe(200)
    expect((await scim.events()).at(-1)).toMatchObject({ externalId: 'E-ben', active: true })
    expect(await scim.events()).toHaveLength(events.length + 2)
  })

  test.each([
    ['its key', { externalId: '00u-ana' }, '00u-ana'],
    ['another key', { externalId: 'E-ben' }, 'E-ben'],
  ])('returns with a patch that states %s', async (_, more, key) => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')
    await patch(scim, id, deactivate)

    const back = await patch(scim, id, { op: 'replace', value: { active: true, displayName: 'Ben Ito', ...more } })

    expect(back).toMatchObject({ status: 200, body: { externalId: key } })
    expect((await scim.events()).at(-1)).toMatchObject({ externalId: key, active: true })
  })

  test('keeps its key while it is active, and as long as no name changes', async () => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')

    const answers = [
      await patch(scim, id, ...renamed),
      await patch(scim, id, deactivate, { op: 'replace', path: 'displayName', value: 'BEN ITO' }),
      await patch(scim, id, { op: 'replace', path: 'title', value: 'CEO' }),
      await patch(scim, id, activate),
    ]

    for (const answer of answers) expect(answer).toMatchObject({ status: 200, body: { externalId: '00u-ana' } })
  })
})

describe('after a change of the mapping of the key', () => {
  test.each([
    ['that is a column', { identityId: 'userName' }],
    ['that is the first of several', { identityId: { firstOf: ['userName', 'externalId'], lowercase: true } }],
  ])('the person of the former key leaves %s', async (_, fields) => {
    await using scim = await openScim({ mapping: { fields } })
    const { id } = await create(scim, 'ana@acme.example')
    const { id: deleted } = await create(scim, 'bo@acme.example')
    await scim.store.db.updateTable('scim_resources').set({ identity_id: sql`'old-' || external_id` }).execute()

    await patch(scim, id, { op: 'replace', path: 'title', value: 'CEO' })
    await scim.call({ method: 'DELETE', path: `/Users/${deleted}` })

    expect((await scim.events()).slice(2)).toMatchObject([
      [
        { userName: 'old-00u-ana', active: false },
        { userName: 'ana@acme.example', active: true, title: 'CEO' },
      ],
      { userName: 'old-00u-bo', active: false },
    ])
  })

  test('a user is refused whose former key no column can state', async () => {
    await using scim = await openScim({ mapping: { fields: { identityId: { template: '{externalId}-{userName}' } } } })
    const { id } = await create(scim, 'ana@acme.example')
    await scim.store.db.updateTable('scim_resources').set({ identity_id: 'old' }).execute()

    const answer = await patch(scim, id, deactivate)

    expect(answer).toMatchObject({ status: 503, body: { detail: expect.stringContaining('mapped otherwise') } })
    expect(await scim.events()).toHaveLength(1)
  })
})

describe('two users of one person', () => {
  test('the person stays while one of them is active', async () => {
    await using scim = await openScim()
    const first = await create(scim, 'ana@acme.example', { externalId: 'E1', title: 'first' })
    const second = await create(scim, 'ana.okoro@acme.example', { externalId: 'E1', title: 'second' })

    await patch(scim, first.id, deactivate)
    await scim.call({ method: 'DELETE', path: `/Users/${first.id}` })
    await patch(scim, second.id, deactivate)

    expect((await scim.events()).slice(2)).toMatchObject(
      [{ title: 'second', active: true }, [{ title: 'second', active: true }], { title: 'second', active: false }].map(
        (event) => (Array.isArray(event) ? event[0] : event),
      ),
    )
  })
})

describe('what a change does not say', () => {
  test('PUT without active leaves the user as it was', async () => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')
    await patch(scim, id, deactivate)

    const put = await scim.call({
      method: 'PUT',
      path: `/Users/${id}`,
      body: oktaUser('ana@acme.example', { active: undefined }),
    })

    expect(put.body.active).toBe(false)
    expect((await scim.events()).at(-1)).toMatchObject({ active: false })
  })

  test('a new user without active is active, and one that is not is no event until it is', async () => {
    await using scim = await openScim()

    const one = await create(scim, 'ana@acme.example', { active: undefined })
    const other = await create(scim, 'bo@acme.example', { active: false })
    await patch(scim, other.id, { op: 'replace', path: 'externalId', value: 'E2' })
    const before = await scim.events()
    await patch(scim, other.id, { op: 'replace', path: 'active', value: true })
    await patch(scim, other.id, deactivate)
    await scim.call({ method: 'DELETE', path: `/Users/${other.id}` })

    expect([one.active, other.active]).toEqual([true, false])
    expect(before).toMatchObject([{ active: true }])
    expect((await scim.events()).slice(1)).toMatchObject([
      { externalId: 'E2', active: true },
      { externalId: 'E2', active: false },
      { externalId: 'E2', active: false },
    ])
  })

  test('a user that is not active has left if its person is known, also after its events are gone', async () => {
    await using scim = await openScim()
    await sql`insert into roster (connection, identity_id, desired, as_of) values ('hr', '00u-bo', '{}', now())`.execute(
      scim.store.db,
    )

    await create(scim, 'bo@acme.example', { active: false })

    expect(await scim.events()).toMatchObject([{ externalId: '00u-bo', active: false }])
  })

  test('a repeated change is an event again, and no version', async () => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')

    const answers = [await patch(scim, id, deactivate), await patch(scim, id, deactivate)]

    expect(answers.map(({ body }) => body.meta.version)).toEqual(['W/"2"', 'W/"2"'])
    expect(await scim.events()).toMatchObject([{ active: true }, { active: false }, { active: false }])
  })
})

test('a manager is named by the key of the manager', async () => {
  await using scim = await openScim()
  const boss = await create(scim, 'bo@acme.example')

  await create(scim, 'ana@acme.example', { [enterpriseSchema]: { manager: { value: boss.id } } })
  await create(scim, 'cem@acme.example', { [enterpriseSchema]: { manager: { value: 'M-7' } } })

  expect(await scim.events()).toMatchObject([
    {},
    { [enterpriseSchema]: { manager: { value: '00u-bo' } } },
    { [enterpriseSchema]: { manager: { value: 'M-7' } } },
  ])
})

test('a manager who gets another key is named by it at once, and a deleted one by none', async () => {
  await using scim = await openScim()
  const boss = await create(scim, 'bo@acme.example')
  const named = { [enterpriseSchema]: { manager: { value: boss.id } } }
  const { id } = await create(scim, 'ana@acme.example', named)
  const former = await create(scim, 'cem@acme.example', named)
  await patch(scim, former.id, deactivate)

  await patch(scim, boss.id, { op: 'replace', path: 'externalId', value: 'E9' })
  await scim.call({ method: 'DELETE', path: `/Users/${boss.id}` })
  await patch(scim, id, { op: 'replace', path: 'title', value: 'CEO' })

  const manager = (value: string | null) => ({ externalId: '00u-ana', [enterpriseSchema]: { manager: { value } } })
  expect((await scim.events()).slice(4)).toMatchObject([
    [{ externalId: '00u-bo', active: false }, { externalId: 'E9' }],
    manager('E9'),
    { externalId: 'E9', active: false },
    manager(null),
  ])
})

test('a manager who is named by a key in the form of an ID keeps it', async () => {
  await using scim = await openScim()
  const key = '7f1c8d9e-0000-4000-8000-000000000001'
  await create(scim, 'bo@acme.example', { externalId: key })

  await create(scim, 'ana@acme.example', { [enterpriseSchema]: { manager: { value: key } } })

  expect((await scim.events()).at(-1)).toMatchObject({ [enterpriseSchema]: { manager: { value: key } } })
})

describe('groups', () => {
  const isContractor = { expression: '$contains(groups, "Contractors")', map: { true: true, false: false } }
  const group = (scim: Scim, displayName: string, ...members: string[]) =>
    scim.call({ method: 'POST', path: '/Groups', body: { displayName, members: members.map((value) => ({ value })) } })

  test('change nobody if the mapping does not read them', async () => {
    await using scim = await openScim()
    const { id } = await create(scim, 'ana@acme.example')

    await group(scim, 'Contractors', id)

    const events = await scim.events()
    expect(events).toHaveLength(1)
    expect(events[0]).not.toHaveProperty('groups')
  })

  test('change their members if the mapping reads them', async () => {
    await using scim = await openScim({ mapping: { fields: { isContractor } } })
    const [ana, bo] = [await create(scim, 'ana@acme.example'), await create(scim, 'bo@acme.example')]

    const { body: contractors } = await group(scim, 'Contractors', ana.id, 'unknown')
    const { body: staff } = await group(scim, 'All', ana.id)
    const path = `/Groups/${contractors.id}`
    await scim.call({
      method: 'PATCH',
      path,
      body: patchOf({ op: 'add', path: 'members', value: [{ value: ana.id }, { value: bo.id }] }),
    })
    await scim.call({ method: 'PATCH', path, body: patchOf({ op: 'remove', path: `members[value eq "${ana.id}"]` }) })
    await scim.call({ method: 'PATCH', path, body: patchOf({ op: 'replace', path: 'displayName', value: 'External' }) })
    await scim.call({ method: 'PUT', path, body: { displayName: 'External', members: [{ value: bo.id }] } })
    await scim.call({ method: 'DELETE', path })
    await scim.call({ method: 'DELETE', path: `/Groups/${staff.id}` })

    expect((await scim.events()).slice(2)).toMatchObject([
      { userName: 'ana@acme.example', groups: 'Contractors' },
      { userName: 'ana@acme.example', groups: 'All, Contractors' },
      { userName: 'bo@acme.example', groups: 'Contractors' },
      { userName: 'ana@acme.example', groups: 'All' },
      { userName: 'bo@acme.example', groups: 'External' },
      { userName: 'bo@acme.example', groups: '' },
      { userName: 'ana@acme.example', groups: '' },
    ])
  })

  test('take the room of all their events in the inbox', async () => {
    await using scim = await openScim({ mapping: { fields: { isContractor } }, settings: { inboxLimit: 5 } })
    const [ana, bo] = [await create(scim, 'ana@acme.example'), await create(scim, 'bo@acme.example')]

    await group(scim, 'Contractors', ana.id, bo.id)
    await group(scim, 'Empty')
    const answers = [await group(scim, 'All', ana.id), await group(scim, 'Late', ana.id)]

    expect(answers.map(({ status }) => status)).toEqual([201, 429])
    expect(scim.loggedEvents.filter(({ event }) => event === 'scim.stored')).toMatchObject(
      [1, 1, 2, 1].map((stored) => ({ stored })),
    )
  })
})
