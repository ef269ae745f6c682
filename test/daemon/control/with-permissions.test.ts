import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import { By, type Caller, machineCaller, type Role, roles } from '../../../src/contract/control/access.ts'
import { control } from '../../../src/contract/control/control.ts'
import { type Operation, operations } from '../../../src/contract/operation.ts'
import { type WithActor, withPermissions } from '../../../src/daemon/control/with-permissions.ts'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { Failure } from '../../../src/errors.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'

const shape = { method: 'POST', path: '/', summary: '', success: { 200: z.unknown() }, errors: [] } as const
const table = operations({
  look: {
    ...shape,
    permission: 'viewer',
    params: z.object({ connection: z.string() }),
    query: z.object({ values: z.boolean().default(false) }),
  },
  decide: { ...shape, permission: 'approver', body: z.strictObject({ by: By }) },
})

type Context = { readonly caller: Caller; readonly sync: { readonly store: Database<StoreSchema>; now(): Date } }

const stack = new AsyncDisposableStack()
const clock = { now: new Date('2026-11-20T10:00:00.000Z') }
let store: Database<StoreSchema>
beforeAll(async () => {
  store = stack.use(
    await openDatabase<StoreSchema>({
      at: stack.use(await createPostgresDatabase()).at,
      schemas: ['rollcall'],
      migrations,
    }),
  )
})
afterAll(() => stack.disposeAsync())

const contextOf = (by: Caller): Context => ({ caller: by, sync: { store, now: () => clock.now } })

const checked = withPermissions<typeof table, Context>(table, {
  look: async (_context: Context & WithActor) => ({ status: 200, body: { identityId: 'E0001' } }),
  decide: async ({ actor }) => ({ status: 200, body: actor }),
})

const caller = (role: Role): Caller => ({ name: 'ana', role, via: 'token', principal: 'token:ana' })

async function acts(): Promise<unknown[]> {
  const rows = await store.db.selectFrom('audit_pending').select('entry').orderBy('id').execute()
  return rows.map(({ entry }) => JSON.parse(entry))
}

async function outcome(call: Promise<{ readonly body: unknown }>): Promise<unknown> {
  try {
    return (await call).body
  } catch (error) {
    return error instanceof Failure ? `${error.code}: ${error.message}` : error
  }
}

describe('who may', () => {
  test('each role may do what those before it may, and no more', async () => {
    const outcomes = await Promise.all(
      roles.map((role) => outcome(checked.decide(contextOf(caller(role)), { body: {} }))),
    )

    expect(outcomes).toEqual([
      'forbidden: this needs the role approver, and ana has the role viewer',
      'forbidden: this needs the role approver, and ana has the role operator',
      { by: 'ana', principal: 'token:ana' },
      { by: 'ana', principal: 'token:ana' },
    ])
  })

  test('a viewer sees no personal values, and an operator does', async () => {
    const look = (role: Role, values: boolean) =>
      outcome(checked.look(contextOf(caller(role)), { params: { connection: 'acme' }, query: { values } }))

    expect(await look('viewer', false)).toEqual({ identityId: 'E0001' })
    expect(await look('viewer', true)).toBe(
      'forbidden: personal values need the role operator, and ana has the role viewer: ask without values',
    )
    expect(await look('operator', true)).toEqual({ identityId: 'E0001' })
  })

  test('the name in a request is trusted only from the account of this machine', async () => {
    const decide = (who: Caller, by?: string) => outcome(checked.decide(contextOf(who), { body: { by } }))

    expect(await decide(caller('admin'), 'ana')).toEqual({ by: 'ana', principal: 'token:ana' })
    expect(await decide(caller('admin'), 'ben')).toBe('usage: body.by: says "ben", and the caller is ana: leave it out')
    expect(await decide(machineCaller('root'), 'ben')).toEqual({ by: 'ben', principal: 'machine' })
    expect(await decide(machineCaller('root'))).toEqual({ by: 'root', principal: 'machine' })
  })

  test('the audit trail records who saw whose values, and what was refused to whom, once a minute', async () => {
    await store.db.deleteFrom('audit_pending').execute()
    const ana = contextOf({ ...caller('operator'), name: 'told', principal: 'token:told' })
    const viewer = contextOf({ ...caller('viewer'), name: 'told viewer', principal: 'token:viewer' })
    const look = async (who: Context, values: boolean) =>
      await outcome(checked.look(who, { params: { connection: 'acme' }, query: { values } }))

    for (let again = 0; again < 3; again++) {
      await look(ana, true)
      await look(ana, false)
      await look(viewer, true)
      await outcome(checked.decide(viewer, { body: {} }))
    }
    const within = await acts()
    clock.now = new Date(clock.now.getTime() + 60_000)
    await look(ana, true)
    const later = await acts()

    const shown = { operation: 'look', role: 'operator', principal: 'token:told' }
    expect(within).toMatchObject([
      { act: 'values.seen', by: 'told', connection: 'acme', identityId: 'E0001', details: shown },
      { act: 'access.refused', by: 'told viewer', details: { operation: 'look', role: 'viewer' } },
      { act: 'access.refused', by: 'told viewer', details: { operation: 'decide' } },
    ])
    expect(later).toHaveLength(within.length + 1)
  })

  test('the audit trail records that values were seen also after the clock was a year ahead', async () => {
    await store.db.deleteFrom('audit_pending').execute()
    const before = clock.now
    const look = () => {
      const who = contextOf({ ...caller('operator'), name: 'ahead', principal: 'token:ahead' })
      return outcome(checked.look(who, { params: { connection: 'acme' }, query: { values: true } }))
    }

    clock.now = new Date('2027-11-20T10:00:00.000Z')
    await look()
    clock.now = before
    await look()

    expect(await acts()).toMatchObject([
      { act: 'values.seen', by: 'ahead' },
      { act: 'values.seen', by: 'ahead' },
    ])
  })

  test('every operation names its least role, and lists 403 if a role may be too low', () => {
    const wrong = Object.entries<Operation>(control).filter(([, { permission, query, errors }]) => {
      const isKnown = roles.some((role) => role === permission)
      const canRefuse = permission !== 'viewer' || 'values' in (query?.shape ?? {})
      return !isKnown || (canRefuse && !errors.includes(403))
    })

    expect(wrong.map(([name]) => name)).toEqual([])
  })

  test('viewers may use operations that only read, and none that change something', () => {
    const open = Object.entries(control).filter(([, { permission }]) => permission === 'viewer')

    expect(open.filter(([, { method }]) => method !== 'GET').map(([name]) => name)).toEqual(['verifyAudit'])
  })
})
