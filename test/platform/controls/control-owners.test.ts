import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { type ControlCompany, newControlCompany } from '../helpers/control-company.ts'
import { bodyOf, openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

const minuteMs = 60_000
const unknownId = Number.MAX_SAFE_INTEGER

describe.each(databases)('control owners on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let company: ControlCompany
  let stranger: ControlCompany
  let ana: number
  let ben: number
  let cleo: number
  let controls = 0

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    company = await newControlCompany(opened, 'Acme')
    stranger = await newControlCompany(opened, 'Bolt')
    const { users } = company
    ana = users.ana ?? 0
    ben = users.ben ?? 0
    cleo = users.cleo ?? 0
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  type Params = { workspaceId: number; controlId: number }
  /** A separate control for a test, with these owners. */
  const newControl = async (ownersIds: number[] = []): Promise<Params> => {
    controls += 1
    const params = { workspaceId: company.workspaceId }
    const body = { name: 'Owned', description: 'By a test.', code: `O-${controls}`, ownersIds }
    const { id } = bodyOf(await company.client.createControl({ params, body }), 201)
    return { ...params, controlId: id }
  }
  type Query = NonNullable<Parameters<ControlCompany['client']['listControlOwners']>[0]['query']>
  const ownersOf = async (params: Params, query: Query = {}) => {
    const { data } = bodyOf(await company.client.listControlOwners({ params, query }), 200)
    return data.map(({ id }) => id)
  }
  const updatedAt = async (params: Params) =>
    bodyOf(await company.client.getControl({ params, query: {} }), 200).updatedAt

  test('owners are listed as users, paged, counted and sorted', async () => {
    const params = await newControl([ana, ben, cleo])

    const first = await company.client.listControlOwners({ params, query: { size: 2, includeTotalCount: true } })

    const { data, pagination } = bodyOf(first, 200)
    expect(data[0]).toEqual({
      id: ana,
      email: 'ana@acme.example',
      firstName: 'ana',
      lastName: 'Test',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    })
    expect(pagination.totalCount).toBe(3)
    expect(await ownersOf(params, { size: 2, cursor: pagination.cursor ?? '' })).toEqual([cleo])
    expect(await ownersOf(params, { sortDir: 'DESC' })).toEqual([cleo, ben, ana])
  })

  test('owners are found and left out by their ids', async () => {
    const params = await newControl([ana, ben])

    expect(await ownersOf(params, { 'includeUserIds[]': [ben, cleo] })).toEqual([ben])
    expect(await ownersOf(params, { excludeUserIds: [ben, unknownId] })).toEqual([ana])
    expect(await ownersOf(params, { 'includeUserIds[]': [ana], excludeUserIds: [ana] })).toEqual([])
  })

  test('owners are found by a framework that one of their controls in the workspace serves', async () => {
    const params = await newControl([ana, cleo])

    expect(await ownersOf(params, { frameworkSlug: 'soc2' })).toEqual([ana])
    expect(await ownersOf(params, { frameworkSlug: 'iso27001' })).toEqual([])
    expect(await ownersOf(params, { frameworkSlug: 'nothing' })).toEqual([])
  })

  test('a user becomes an owner once, however often that is asked for', async () => {
    const params = await newControl()
    opened.clock.advance(minuteMs)

    const first = await company.client.addControlOwner({ params, body: { ownerId: ben } })
    const changedAt = await updatedAt(params)
    opened.clock.advance(minuteMs)
    const second = await company.client.addControlOwner({ params, body: { ownerId: ben } })

    expect(bodyOf(first, 201)).toMatchObject({ id: ben, email: 'ben@acme.example' })
    expect(bodyOf(second, 201)).toEqual(bodyOf(first, 201))
    expect(await ownersOf(params)).toEqual([ben])
    expect(await updatedAt(params)).toBe(changedAt)
    const events = (await company.events('CONTROL_OWNER_ADDED')).filter(
      ({ metadata }) => (metadata.targetEntity as { id: number }).id === params.controlId,
    )
    expect(events.map(({ metadata }) => metadata.targets)).toEqual([{ kind: 'user', ids: [ben] }])
  })

  test('all owners are replaced, and duplicates count once', async () => {
    const params = await newControl([ana, ben])

    const replaced = await company.client.modifyControlOwners({ params, body: { ownerUserIds: [cleo, ben, cleo] } })

    expect(bodyOf(replaced, 200)).toEqual({ ownerIds: [cleo, ben] })
    expect(await ownersOf(params)).toEqual([ben, cleo])
    expect((await company.events('CONTROL_OWNER_ADDED')).at(-1)?.metadata).toEqual({
      targetEntity: { kind: 'control', id: params.controlId },
      targets: { kind: 'user', ids: [cleo] },
    })
    expect((await company.events('CONTROL_OWNER_DELETED')).at(-1)?.metadata).toEqual({
      targetEntity: { kind: 'control', id: params.controlId },
      targets: { kind: 'user', ids: [ana] },
    })
  })

  test('an empty list removes every owner', async () => {
    const params = await newControl([ana, ben])

    const emptied = await company.client.modifyControlOwners({ params, body: { ownerUserIds: [] } })

    expect(bodyOf(emptied, 200)).toEqual({ ownerIds: [] })
    expect(await ownersOf(params)).toEqual([])
  })

  test('replacing owners by themselves changes nothing', async () => {
    const params = await newControl([ana, ben])
    const before = await updatedAt(params)
    opened.clock.advance(minuteMs)

    await company.client.modifyControlOwners({ params, body: { ownerUserIds: [ben, ana] } })

    expect(await updatedAt(params)).toBe(before)
  })

  test('deleting an owner answers those that remain', async () => {
    const params = await newControl([ana, ben, cleo])

    const deleted = await company.client.deleteControlOwner({ params: { ...params, ownerId: ben } })

    expect(bodyOf(deleted, 200).data.map(({ id }) => id)).toEqual([ana, cleo])
    const again = await company.client.deleteControlOwner({ params: { ...params, ownerId: ben } })
    expect(again.status).toBe(404)
  })

  test('the page of those that remain goes on in the list of owners', async () => {
    const { db } = opened.platform.database
    const { account_id } = await db
      .selectFrom('users')
      .select('account_id')
      .where('id', '=', ana)
      .executeTakeFirstOrThrow()
    const now = opened.clock.now()
    const rows = Array.from({ length: 60 }, (_, index) => ({
      account_id,
      email: `crowd${index}@acme.example`,
      first_name: null,
      last_name: null,
      origin: 'operator' as const,
      created_at: now,
      updated_at: now,
    }))
    const crowd = (await db.insertInto('users').values(rows).returning('id').execute()).map(({ id }) => id)
    const params = await newControl([ana, ...crowd])

    const deleted = await company.client.deleteControlOwner({ params: { ...params, ownerId: ana } })

    const { data, pagination } = bodyOf(deleted, 200)
    expect(data.map(({ id }) => id)).toEqual(crowd.slice(0, 50))
    expect(await ownersOf(params, { cursor: pagination.cursor ?? '' })).toEqual(crowd.slice(50))
  })

  test('an unknown user, or one of another account, is 404 and changes nothing', async () => {
    const params = await newControl([ana])
    const theirs = stranger.users.ana ?? 0

    const answers = [
      await company.client.addControlOwner({ params, body: { ownerId: unknownId } }),
      await company.client.addControlOwner({ params, body: { ownerId: theirs } }),
      await company.client.modifyControlOwners({ params, body: { ownerUserIds: [ben, unknownId] } }),
      await company.client.modifyControlOwners({ params, body: { ownerUserIds: [theirs] } }),
      await company.client.deleteControlOwner({ params: { ...params, ownerId: theirs } }),
      await company.client.deleteControlOwner({ params: { ...params, ownerId: unknownId } }),
    ]

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
    expect(await ownersOf(params)).toEqual([ana])
  })

  test('a control that is not there, or belongs to others, is 404', async () => {
    const params = await newControl([ana])
    const hiddenControls = [
      { ...params, controlId: unknownId },
      { ...params, workspaceId: unknownId },
      { ...params, workspaceId: company.otherWorkspaceId },
      { workspaceId: stranger.workspaceId, controlId: stranger.controls['LIB-1'] ?? 0 },
    ]

    const answers = await Promise.all(
      hiddenControls.flatMap((control) => [
        company.client.listControlOwners({ params: control, query: {} }),
        company.client.addControlOwner({ params: control, body: { ownerId: ana } }),
        company.client.modifyControlOwners({ params: control, body: { ownerUserIds: [] } }),
        company.client.deleteControlOwner({ params: { ...control, ownerId: ana } }),
      ]),
    )

    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 404))
  })

  test.each<[string, () => Query]>([
    ['more than 300 users to include', () => ({ 'includeUserIds[]': Array.from({ length: 301 }, (_, at) => at + 1) })],
    ['a user to exclude that is no id', () => ({ excludeUserIds: [0] })],
    ['a NUL character in the framework', () => ({ frameworkSlug: 'a\0' })],
  ])('%s is refused with 400', async (_what, query) => {
    const params = await newControl()

    const answer = await company.client.listControlOwners({ params, query: query() })

    expect(answer.status).toBe(400)
  })

  test.each([{ ownerId: 0 }, { ownerId: '1' }, {}])('the new owner %j is refused with 400', async (body) => {
    const params = await newControl()

    const answer = await company.client.addControlOwner({ params, body: body as { ownerId: number } })

    expect(answer.status).toBe(400)
  })

  test('owners are added, replaced and deleted at the same time without an error of the server', async () => {
    const params = await newControl([ana])

    const answers = await Promise.all(
      Array.from({ length: 6 }, () => [
        company.client.addControlOwner({ params, body: { ownerId: ben } }),
        company.client.modifyControlOwners({ params, body: { ownerUserIds: [cleo, ana] } }),
        company.client.modifyControlOwners({ params, body: { ownerUserIds: [ana, ben, cleo] } }),
        company.client.deleteControlOwner({ params: { ...params, ownerId: ana } }),
      ]).flat(),
    )

    expect(answers.filter(({ status }) => ![200, 201, 404].includes(Number(status)))).toEqual([])
  })

  test('owners of a control that is deleted meanwhile are 404 and never an error of the server', async () => {
    const params = await newControl([ana])
    const { db } = opened.platform.database

    const [answers] = await Promise.all([
      Promise.all(
        Array.from({ length: 6 }, () => [
          company.client.addControlOwner({ params, body: { ownerId: ben } }),
          company.client.modifyControlOwners({ params, body: { ownerUserIds: [cleo] } }),
        ]).flat(),
      ),
      db.deleteFrom('controls').where('id', '=', params.controlId).execute(),
    ])

    expect(answers.filter(({ status }) => ![200, 201, 404].includes(Number(status)))).toEqual([])
  })
})
