import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AnyAnswer } from '../../src/http/client/answer.ts'
import type { CallOptions } from '../../src/http/client/client.ts'
import { connectionStates } from '../../src/store/connections/connections.ts'
import { listProblems } from '../../src/store/deliveries/problems.ts'
import { listForeign } from '../../src/store/foreign/people.ts'
import {
  approveRun,
  requestRevert,
  requestSeparation,
  restorePerson,
  retractPerson,
  unblock,
} from '../../src/sync/sync.ts'
import {
  findRecordResource,
  liveRecords,
  openRecordWorld,
  type RecordOptions,
  type RecordRow,
  recordNight,
  recordOf,
  recordSchema,
  sessions,
  workers,
  workspaceOf,
} from '../helpers/custom-records.ts'
import { between, type Host, startHost, type World } from '../helpers/world.ts'

let host: Host

beforeAll(async () => {
  host = await startHost()
})

afterAll(async () => {
  await host[Symbol.asyncDispose]()
})

async function open(options: Omit<RecordOptions, 'workspaceId'> = {}) {
  const { client, name } = await host.tenant()
  const workspaceId = await workspaceOf(host, name)
  const world = await openRecordWorld(client, { workspaceId, ...options })
  return { client, world, workspaceId, [Symbol.asyncDispose]: () => world[Symbol.asyncDispose]() }
}

function asRecords(rows: readonly RecordRow[]) {
  return new Map(rows.map((row) => [row.id, recordOf(row)]))
}

describe.each(['session', 'direct'] as const)('records that are delivered by %s', (deliver) => {
  const inFull = deliver === 'direct' ? { tags: ['full'] } : {}

  test('are on the platform as in the export, and the same export again sends nothing', inFull, async () => {
    await using opened = await open({ deliver })
    const { world, client } = opened

    const first = await recordNight(world, workers(30))
    const second = await recordNight(world, workers(30))

    expect(first.state).toBe('finished')
    expect(await liveRecords(client)).toEqual(asRecords(workers(30)))
    expect(second).toMatchObject({ state: 'unchanged', sent: { session: { requests: 0 }, upsert: { requests: 0 } } })
  })

  test('change, leave and come back with the export', async () => {
    await using opened = await open({ deliver })
    const { world, client } = opened
    const all = workers(30)
    const moved = all.map((row) => (row.id === 'E0002' ? { ...row, department: 'Finance', laptop: 'yes' } : row))
    await recordNight(world, all)

    const changed = await recordNight(world, moved)
    const afterwards = await liveRecords(client)
    const departureRun = await recordNight(
      world,
      moved.filter(({ id }) => id !== 'E0002'),
    )
    const without = await liveRecords(client)
    const still = await recordNight(
      world,
      moved.filter(({ id }) => id !== 'E0002'),
    )
    const back = await recordNight(world, all)

    expect(changed.counts).toMatchObject({ update: 1, leave: 0 })
    expect(afterwards).toEqual(asRecords(moved))
    expect(departureRun).toMatchObject({ state: 'finished', counts: { leave: 1 } })
    expect(without.has('E0002')).toBe(false)
    expect(still.state).toBe('unchanged')
    expect(back.counts).toMatchObject({ return: 1 })
    expect(await liveRecords(client)).toEqual(asRecords(all))
  })

  test('are held if too many of them would be removed', inFull, async () => {
    await using opened = await open({ deliver })
    const { world, client } = opened
    await recordNight(world, workers(30))

    const run = await recordNight(world, workers(15))

    expect(run.state).toBe('held')
    expect(run.guards?.filter(({ ok }) => !ok).map(({ name }) => name)).toContain('leavers')
    expect(await liveRecords(client)).toEqual(asRecords(workers(30)))
    await approveRun(world.sync, { runId: run.id, digest: run.digest ?? '', by: 'ana' })
    await world.drain()
    expect((await world.runOf(run.id)).state).toBe('finished')
    expect(await liveRecords(client)).toEqual(asRecords(workers(15)))
  })

  test('are retracted and restored by an operator, and stay away meanwhile', inFull, async () => {
    await using opened = await open({ deliver })
    const { world, client } = opened
    const { name: connection } = world.connection
    await recordNight(world, workers(8))

    const request = { connection, identityId: 'E0003', reason: 'a test account', by: 'ana' }
    const held = await retractPerson(world.sync, request)
    await approveRun(world.sync, { runId: held.id, digest: held.digest ?? '', by: 'ben' })
    await world.drain()
    await recordNight(world, change(workers(8), { id: 'E0001', department: 'Finance' }))
    const without = await liveRecords(client)
    await restorePerson(world.sync, { connection, identityId: 'E0003', by: 'ana' })
    await world.drain()

    expect([...without.keys()]).toEqual(workers(8).flatMap(({ id }) => (id === 'E0003' ? [] : [id])))
    expect(await liveRecords(client)).toEqual(asRecords(change(workers(8), { id: 'E0001', department: 'Finance' })))
  })

  test('are all sent again on request', inFull, async () => {
    await using opened = await open({ deliver })
    const { world, client } = opened
    await recordNight(world, workers(8))
    const params = await findRecordResource(client)
    await client.deleteCustomDataRecord({ params: { ...params, recordId: 'E0002' } })

    const run = await recordNight(world, workers(8), { full: true })

    expect(run).toMatchObject({ state: 'finished', confirmed: 8 })
    expect(await liveRecords(client)).toEqual(asRecords(workers(8)))
  })
})

test('a session replaces the one before it', async () => {
  await using opened = await open()
  const { world, client } = opened

  await recordNight(world, workers(5))
  await recordNight(world, workers(6))

  expect((await sessions(client)).map(({ status }) => status).toSorted()).toEqual(['ACTIVE', 'ARCHIVED'])
})

describe('faults', () => {
  test('a row that violates the schema is rejected with its place, and its record stays as it was', async () => {
    await using opened = await open()
    const { world, client } = opened
    const all = workers(10)
    await recordNight(world, all)

    const run = await recordNight(world, change(all, { id: 'E0003', department: 'Marketing' }))

    expect(run.counts).toMatchObject({ rejected: 1, leave: 0, update: 0 })
    const { sync } = world
    const rejects = await sync.store.db.selectFrom('rejects').selectAll().where('run_id', '=', run.id).execute()
    expect(rejects).toMatchObject([
      {
        line: 4,
        column_name: 'Department',
        identity_id: 'E0003',
        reason: 'the schema says of department: must be equal to one of the allowed values',
      },
    ])
    expect(await liveRecords(client)).toEqual(asRecords(all))
  })

  test('refused records are problems, and do not stop others that are sent one by one', async () => {
    await using opened = await open({ deliver: 'direct' })
    const { world, client } = opened
    const all = workers(10)
    refusing(world, 'E0003')

    const run = await recordNight(world, all)

    expect(run).toMatchObject({ state: 'finished_with_problems', problems: 1, confirmed: 9 })
    expect(await problemsOf(world)).toEqual([['E0003', 400, 'Schema validation failed for data']])
    expect([...(await liveRecords(client)).keys()]).toHaveLength(9)
  })

  test('a session with a refused record changes nothing, and the next one brings everything', async () => {
    await using opened = await open()
    const { world, client } = opened
    const all = workers(10)
    await recordNight(world, all)
    const former = await liveRecords(client)
    const heal = refusing(world, 'E0003')

    const run = await recordNight(world, change(all, { id: 'E0001', department: 'Finance' }))
    const meanwhile = await liveRecords(client)
    const problems = await problemsOf(world)
    heal()
    const next = await recordNight(world, change(all, { id: 'E0001', department: 'Finance' }))

    expect(run).toMatchObject({ state: 'finished_with_problems', problems: 1 })
    expect(meanwhile).toEqual(former)
    expect(problems).toEqual([
      [
        'E0001',
        400,
        'the session was cancelled, as 1 of its records are refused (the first is E0003: Schema validation failed for data)',
      ],
    ])
    expect((await sessions(client)).map(({ status }) => status).toSorted()).toEqual(['ACTIVE', 'ARCHIVED', 'CANCELED'])
    expect(next.state).toBe('finished')
    expect(await liveRecords(client)).toEqual(asRecords(change(all, { id: 'E0001', department: 'Finance' })))
    expect(await problemsOf(world)).toEqual([])
  })

  test('a batch that is too large is halved until it passes, in a session as well', async () => {
    for (const deliver of ['session', 'direct'] as const) {
      await using opened = await open({ deliver })
      const { world, client } = opened
      between(world, (platform) => ({
        upsertCustomDataRecords: tooLarge(platform.upsertCustomDataRecords),
        uploadSessionRecords: tooLarge(platform.uploadSessionRecords),
      }))

      const run = await recordNight(world, workers(10))

      expect(run).toMatchObject({ state: 'finished', confirmed: 10 })
      expect(await liveRecords(client)).toEqual(asRecords(workers(10)))
    }
  })

  test('a session of somebody else delays ours, and is never cancelled', async () => {
    await using opened = await open()
    const { world, client } = opened
    await recordNight(world, workers(5))
    const params = { ...(await findRecordResource(client)), sessionId: 'somebody-else' }
    await client.uploadSessionRecords({ params, body: { data: workers(1).map((row) => ({ ...recordOf(row) })) } })

    const waiting = await recordNight(world, workers(6))
    const during = await sessions(client)
    const passes = async (minutes: number) => {
      world.clock.now = new Date(world.clock.now.getTime() + minutes * 60_000)
      await world.minute()
    }
    await passes(20)
    const listed = await listProblems(world.sync.store.db, { connection: world.connection.name, now: world.clock.now })
    await client.performSessionAction({ params, body: { action: 'cancel' } })
    await passes(120)

    expect(waiting.state).toBe('delivering')
    expect(listed.map(({ state, message }) => [state, message])).toEqual([
      ['undelivered', expect.stringContaining('session somebody-else of the connection is in progress')],
    ])
    expect(during.find(({ sessionId }) => sessionId === 'somebody-else')?.status).toBe('IN_PROGRESS')
    expect((await world.runOf(waiting.id)).state).toBe('finished')
    expect(await liveRecords(client)).toEqual(asRecords(workers(6)))
  })

  test('a session that somebody else completed half-way is made again as a whole', { tags: ['full'] }, async () => {
    await using opened = await open({ delivery: { batchSize: 4, batchBytes: 1_000_000, updateWave: 100 } })
    const { world, client } = opened
    await recordNight(world, workers(12))
    let uploads = 0
    between(world, (platform) => ({
      uploadSessionRecords: async (input, options) => {
        const answer = await platform.uploadSessionRecords(input, options)
        uploads += 1
        if (uploads === 1) await client.performSessionAction({ params: input.params, body: { action: 'complete' } })
        return answer
      },
    }))

    const run = await recordNight(world, workers(13))
    const half = await liveRecords(client)
    world.clock.now = new Date(world.clock.now.getTime() + 60 * 60_000)
    await world.minute()

    expect(half.size).toBe(4)
    expect((await world.runOf(run.id)).state).toBe('finished')
    expect(await liveRecords(client)).toEqual(asRecords(workers(13)))
  })

  test('a connection that is deleted in between blocks, and is created again on request', async () => {
    await using opened = await open()
    const { world, client } = opened
    await recordNight(world, workers(5))
    const { connectionId } = await findRecordResource(client)
    await client.deleteCustomConnection({ params: { connectionId } })

    const run = await recordNight(world, workers(6))
    const [state] = await connectionStates(world.sync.store.db, world.connection.name)
    await unblock(world.sync, { connection: world.connection.name, by: 'ana' })
    await world.drain()
    await recordNight(world, workers(6))

    expect(run.state).toBe('delivering')
    expect(state?.blocked).toMatchObject({ code: 'connection_missing', status: 404 })
    expect(await liveRecords(client)).toEqual(asRecords(workers(6)))
  })

  test('a schema that differs blocks before anything is sent, and says where', async () => {
    await using opened = await open()
    const { world, client } = opened
    await client.createCustomConnection({
      body: {
        name: 'Acme records',
        providerTypes: ['CUSTOM'],
        workspaceIds: [opened.workspaceId],
        displayNameKey: 'name',
        schema: { ...recordSchema, required: ['id'] },
      },
    })

    await recordNight(world, workers(5))
    const [state] = await connectionStates(world.sync.store.db, world.connection.name)

    expect(state?.blocked?.code).toBe('schema_differs')
    expect(state?.blocked?.reason).toContain(
      '/required is ["id","name"] in the configuration and ["id"] on the platform',
    )
    expect(await liveRecords(client)).toEqual(new Map())
  })

  test('a workspace that does not exist blocks with the words of the platform', { tags: ['full'] }, async () => {
    await using opened = await open({ target: { workspaces: [999_999] } })
    const { world } = opened

    await recordNight(world, workers(5))
    const [state] = await connectionStates(world.sync.store.db, world.connection.name)

    expect(state?.blocked).toMatchObject({ code: 'connection_unsuitable', status: 400 })
    expect(state?.blocked?.reason).toContain('workspace')
  })

  test('a key that is longer than the platform takes is rejected with its line', async () => {
    await using opened = await open()
    const { world } = opened
    const [first = { id: '' }, ...others] = workers(10)

    const run = await recordNight(world, [{ ...first, id: 'E'.repeat(192) }, ...others])

    expect(run.counts).toMatchObject({ join: 9, rejected: 1 })
  })
})

describe('the data on the platform', () => {
  test('is looked up, and repaired if it was changed, lost or restored', async () => {
    for (const deliver of ['session', 'direct'] as const) {
      await using opened = await open({ deliver })
      const { world, client } = opened
      const all = workers(8)
      await recordNight(world, all)
      await recordNight(
        world,
        all.filter(({ id }) => id !== 'E0005'),
      )
      const params = await findRecordResource(client)
      const [changed = { id: '' }, , , , gone = { id: '' }] = all
      await client.upsertCustomDataRecords({
        params,
        body: { data: [{ ...recordOf(changed), department: 'Finance' }, { ...recordOf(gone) }] },
      })
      await client.deleteCustomDataRecord({ params: { ...params, recordId: 'E0002' } })

      const run = await recordNight(
        world,
        all.filter(({ id }) => id !== 'E0005'),
        { verify: true },
      )

      expect(run.verification).toMatchObject({ lost: 1, changed: 2 })
      expect(await liveRecords(client)).toEqual(asRecords(all.filter(({ id }) => id !== 'E0005')))
    }
  })

  test('that no source states is counted and listed, and cannot be separated', async () => {
    await using opened = await open({ deliver: 'direct' })
    const { world, client } = opened
    const all = workers(3)
    await recordNight(world, all)
    const params = await findRecordResource(client)
    const [first = { id: '' }] = all
    const other = { ...recordOf({ ...first, id: 'X1' }) }
    expect(await client.upsertCustomDataRecords({ params, body: { data: [other] } })).toMatchObject({ status: 200 })

    const run = await recordNight(world, all, { verify: true })
    const { db } = world.sync.store

    expect(run.verification).toMatchObject({ lost: 0, changed: 0, foreign: 1, people: { foreign: ['X1'] } })
    expect(await listForeign(db, {})).toMatchObject([{ connection: run.connection, identityId: 'X1' }])
    const request = { connection: run.connection, identityIds: ['X1'], reason: 'gone', by: 'ana' }
    await expect(requestSeparation(world.sync, request)).rejects.toThrow('have no leaving date')
  })

  test('keeps what others wrote into a record that is updated alone', async () => {
    await using opened = await open({ deliver: 'direct' })
    const { world, client } = opened
    const all = workers(3)
    await recordNight(world, all)
    const params = await findRecordResource(client)
    await client.updateCustomDataRecord({ params: { ...params, recordId: 'E0001' }, body: { data: { desk: 'D4' } } })

    await recordNight(world, change(all, { id: 'E0001', department: 'Finance' }))
    const updated = (await liveRecords(client)).get('E0001')
    await recordNight(world, change(all, { id: 'E0001', department: '' }))
    const cleared = (await liveRecords(client)).get('E0001')

    expect(updated).toMatchObject({ department: 'Finance', desk: 'D4' })
    // A merge takes no property away: the record is then written as a whole.
    expect(cleared).not.toHaveProperty('department')
  })
})

test('a revert restores the records that a run changed', async () => {
  await using opened = await open()
  const { world, client } = opened
  const all = workers(8)
  await recordNight(world, all)
  const run = await recordNight(
    world,
    change(all, { id: 'E0001', department: 'Finance' }).filter(({ id }) => id !== 'E0005'),
  )

  await requestRevert(world.sync, {
    runId: run.id,
    reason: 'sent too early',
    by: 'ana',
    signal: new AbortController().signal,
  })
  await world.drain()

  expect(await liveRecords(client)).toEqual(asRecords(all))
})

/** Replaces rows of an export by key. */
function change(rows: readonly RecordRow[], ...changed: readonly RecordRow[]): RecordRow[] {
  const byId = new Map(changed.map((row) => [row.id, row]))
  return rows.map((row) => ({ ...row, ...byId.get(row.id) }))
}

/** Has the platform refuse one record, by code 28022, until it is healed. */
function refusing(world: World, id: string): () => void {
  let isSick = true
  const refuse = <I extends { body: { data: unknown } }, A extends AnyAnswer>(
    call: (input: I, options?: CallOptions) => Promise<A>,
  ) => {
    return async (input: I, options?: CallOptions): Promise<A> => {
      const data = input.body.data as { id: string }[]
      if (!isSick || !data.some((record) => record.id === id)) return await call(input, options)
      const others = data.filter((record) => record.id !== id)
      const answer = others.length === 0 ? null : await call({ ...input, body: { data: others } }, options)
      const items = answer && 'body' in answer ? (answer.body as { id: string }[]) : []
      const failed = { statusCode: 400, error: { code: 28022, message: 'Schema validation failed for data' } }
      const body = data.map((record) => items.find((item) => item.id === record.id) ?? failed)
      return { status: 200, headers: new Headers(), ...answer, body } as unknown as A
    }
  }
  between(world, (platform) => ({
    upsertCustomDataRecords: refuse(platform.upsertCustomDataRecords),
    uploadSessionRecords: refuse(platform.uploadSessionRecords),
  }))
  return () => {
    isSick = false
  }
}

/** Has the platform refuse batches of more than three. */
function tooLarge<I extends { body: { data: unknown } }, A extends AnyAnswer>(
  call: (input: I, options?: CallOptions) => Promise<A>,
): (input: I, options?: CallOptions) => Promise<A> {
  return async (input, options) => {
    if ((input.body.data as unknown[]).length <= 3) return await call(input, options)
    const error = { statusCode: 413, code: 413, message: 'Request entity too large' }
    return { status: 'undeclared', httpStatus: 413, error, headers: new Headers(), retryAfterMs: null } as unknown as A
  }
}

async function problemsOf(world: World) {
  const rows = await world.sync.store.db.selectFrom('problems').selectAll().orderBy('identity_id').execute()
  return rows.map(({ identity_id, status, message }) => [identity_id, status, message])
}
