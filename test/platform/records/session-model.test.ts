import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SessionAction, SessionStatus } from '../../../src/contract/platform/custom-data-sessions.ts'
import { seed } from '../../helpers/seed.ts'
import { databases } from '../../helpers/servers/databases.ts'
import { newRecords, type Records } from '../helpers/data-records.ts'
import { openTestPlatform, type TestAccount, type TestPlatform } from '../helpers/platforms.ts'

type Act =
  | { readonly kind: 'send'; readonly keys: readonly string[]; readonly hostname: string }
  | { readonly kind: 'stage'; readonly session: string; readonly keys: readonly string[]; readonly hostname: string }
  | { readonly kind: 'end'; readonly session: string; readonly action: SessionAction }
  | { readonly kind: 'update'; readonly key: string; readonly hostname: string }
  | { readonly kind: 'delete'; readonly key: string }

const sessionKeys = ['s-1', 's-2', 's-3']
const session = fc.constantFrom(...sessionKeys)
const key = fc.constantFrom('a', 'b', 'c', 'd')
const hostname = fc.constantFrom('one', 'two')
const keys = fc.uniqueArray(key)
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ kind: fc.constant('send' as const), keys, hostname }),
  fc.record({ kind: fc.constant('stage' as const), session, keys, hostname }),
  fc.record({
    kind: fc.constant('end' as const),
    session,
    action: fc.constantFrom<SessionAction>('complete', 'cancel'),
  }),
  fc.record({ kind: fc.constant('update' as const), key, hostname }),
  fc.record({ kind: fc.constant('delete' as const), key }),
)

describe.each(databases)('any story of records and sessions on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let account: TestAccount

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    account = await opened.newAccount()
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  test('matches the table of states in answers and in the store', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(act, { minLength: 6, maxLength: 25 }), async (story) => {
        const site = await newRecords(opened, account)
        const model = new Model()
        for (const one of story) {
          expect(await carryOut(site, one), JSON.stringify(one)).toBe(model.expect(one))
        }
        expect(await site.states()).toEqual(Object.fromEntries(model.sessions))
        expect(await shown(site)).toEqual(model.shown(model.live))
        for (const name of sessionKeys) expect(await shown(site, name)).toEqual(model.shown(name))
      }),
      // A sequence is short enough to read, and shrinking it would exceed the time limit of the test.
      { numRuns: 20, seed, endOnFailure: true },
    )
  })
})

/** The table of states, implemented with maps only. */
class Model {
  readonly sessions = new Map<string, SessionStatus>()
  readonly #sets = new Map<string, Map<string, string>>([['', new Map()]])
  live = ''

  /** The status that the platform must answer. */
  expect(one: Act): number {
    switch (one.kind) {
      case 'send':
        return this.#store(this.live, one.keys, one.hostname)
      case 'stage': {
        const known = this.sessions.get(one.session)
        const isFree = ![...this.sessions.values()].includes('IN_PROGRESS')
        if (known === undefined ? !isFree : known !== 'IN_PROGRESS') return 400
        this.sessions.set(one.session, 'IN_PROGRESS')
        return this.#store(one.session, one.keys, one.hostname)
      }
      case 'end':
        return this.#end(one.session, one.action)
      case 'update':
        return this.#set(this.live).has(one.key) ? this.#store(this.live, [one.key], one.hostname) : 404
      case 'delete':
        return this.#set(this.live).delete(one.key) ? 204 : 404
      default:
        return one satisfies never
    }
  }

  shown(name: string): Record<string, string> {
    return Object.fromEntries(this.#set(name))
  }

  #end(name: string, action: SessionAction): number {
    const known = this.sessions.get(name)
    if (known !== 'IN_PROGRESS') return known === undefined ? 404 : 422
    if (action === 'cancel') {
      this.sessions.set(name, 'CANCELED')
      this.#sets.delete(name)
      return 200
    }
    this.#sets.delete(this.live)
    if (this.live !== '') this.sessions.set(this.live, 'ARCHIVED')
    this.sessions.set(name, 'ACTIVE')
    this.live = name
    return 200
  }

  #store(name: string, recordKeys: readonly string[], value: string): number {
    for (const one of recordKeys) this.#set(name).set(one, value)
    return 200
  }

  #set(name: string): Map<string, string> {
    const set = this.#sets.get(name) ?? new Map<string, string>()
    this.#sets.set(name, set)
    return set
  }
}

async function carryOut(site: Records, one: Act): Promise<unknown> {
  switch (one.kind) {
    case 'send':
      return (await site.send(one.keys.map((id) => ({ id, hostname: one.hostname })))).status
    case 'stage':
      return (
        await site.stage(
          one.session,
          one.keys.map((id) => ({ id, hostname: one.hostname })),
        )
      ).status
    case 'end':
      return (await site.act(one.session, one.action)).status
    case 'update':
      return (await site.update(one.key, { hostname: one.hostname })).status
    case 'delete':
      return (await site.delete(one.key)).status
    default:
      return one satisfies never
  }
}

async function shown(site: Records, sessionId?: string): Promise<Record<string, unknown>> {
  const list = await site.list(sessionId === undefined ? {} : { sessionId })
  return Object.fromEntries(list.map(({ id, attributes }) => [id, attributes.hostname]))
}
