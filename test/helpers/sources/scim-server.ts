import { randomUUID } from 'node:crypto'
import type { z } from 'zod'
import { scimRefusal } from '../../../src/connectors/scim/errors.ts'
import { scimMapping } from '../../../src/connectors/scim/mapping.ts'
import { ScimSource } from '../../../src/connectors/scim/settings.ts'
import { createAttempts } from '../../../src/daemon/access/attempts.ts'
import { admitSenders } from '../../../src/daemon/access/tokens.ts'
import { serveScim } from '../../../src/daemon/scim/serve.ts'
import { openDatabase } from '../../../src/database/database.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { guardHosts } from '../../../src/http/server/hosts.ts'
import { Mapping, type MappingPatch, mergePreset } from '../../../src/identity/mapping/mapping.ts'
import { createToken } from '../../../src/store/access/tokens.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { type Event, silentEvents } from '../../../src/telemetry/events.ts'
import { createPostgresDatabase, type TestDatabase } from '../servers/databases.ts'

export const userSchema = 'urn:ietf:params:scim:schemas:core:2.0:User'
export const groupSchema = 'urn:ietf:params:scim:schemas:core:2.0:Group'
export const enterpriseSchema = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User'
export const errorSchema = 'urn:ietf:params:scim:api:messages:2.0:Error'
export const listSchema = 'urn:ietf:params:scim:api:messages:2.0:ListResponse'
export const patchSchema = 'urn:ietf:params:scim:api:messages:2.0:PatchOp'

// biome-ignore lint/suspicious/noExplicitAny: a test reads what it expects.
type Document = Record<string, any>
export type ScimAnswered = { readonly status: number; readonly body: Document; readonly headers: Headers }
export type ScimCall = {
  readonly method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  readonly path: string
  readonly body?: object | string | Uint8Array
  readonly headers?: Readonly<Record<string, string>>
}

/** Calls a SCIM service as a sender with this token does. */
export function scimClient(url: string, token: string) {
  return async ({ method = 'GET', path, body, headers = {} }: ScimCall): Promise<ScimAnswered> => {
    const isRaw = typeof body === 'string' || body instanceof Uint8Array
    const response = await fetch(`${url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'content-type': 'application/scim+json' }),
        ...headers,
      },
      ...(body !== undefined && { body: isRaw ? Buffer.from(body as string) : JSON.stringify(body) }),
    })
    const text = await response.text()
    return { status: response.status, body: text === '' ? {} : JSON.parse(text), headers: response.headers }
  }
}

export type ScimServing = {
  readonly createDatabase?: () => Promise<TestDatabase>
  readonly settings?: Partial<z.input<typeof ScimSource>>
  readonly mapping?: MappingPatch
  readonly now?: () => Date
  readonly maxUnderWay?: number
  /** How long a request may take to arrive. */
  readonly requestTimeoutMs?: number
}

/** The connections hr and beta, pushed over SCIM on a free port, over a store of their own. */
export async function openScim({
  createDatabase = createPostgresDatabase,
  settings = {},
  mapping = {},
  now = () => new Date(),
  maxUnderWay,
  requestTimeoutMs = 60_000,
}: ScimServing = {}) {
  await using opening = new AsyncDisposableStack()
  const { at } = opening.use(await createDatabase())
  const store = opening.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
  const { db } = store
  const loggedEvents: Event[] = []
  const events = silentEvents((event) => loggedEvents.push(event))
  const attempts = opening.use(createAttempts(events))
  const app = await createApp({ answerOf: scimRefusal, requestTimeoutMs, slowRequestTimeoutMs: 60_001 })
  guardHosts(app, { names: [], publicUrl: null })
  const feed = (own: ScimServing['settings']) => ({
    settings: ScimSource.parse({ type: 'scim', ...own }),
    mapping: Mapping.parse(mergePreset(scimMapping, mapping)),
  })
  const feeds = new Map([
    ['hr', feed(settings)],
    ['beta', feed({})],
  ])
  await serveScim(app, {
    feeds,
    db,
    now,
    events,
    admit: admitSenders({ db, now }, attempts),
    publicUrl: null,
    ...(maxUnderWay !== undefined && { maxUnderWay }),
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  opening.defer(() => app.close())
  const makeToken = async (connection: string, expiresAt: Date | null = null) => {
    const made = {
      name: `sender ${Math.random()}`,
      role: 'scim',
      connection,
      expiresAt,
      by: 'test',
      now: now(),
    } as const
    return (await createToken(db, made)).text
  }
  const token = await makeToken('hr')
  const opened = opening.move()
  return {
    app,
    url,
    store,
    token,
    makeToken,
    loggedEvents,
    call: scimClient(`${url}/scim/v2/hr`, token),
    /** The bodies of the events, in order. */
    async events(): Promise<unknown[]> {
      const rows = await db.selectFrom('inbox').select('body').orderBy('id').execute()
      return rows.map(({ body }) => JSON.parse(Buffer.from(body ?? []).toString()))
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

/** A user as the validator of Microsoft creates it. */
export function entraUser(more: object = {}): object {
  const externalId = randomUUID()
  return {
    schemas: [userSchema, enterpriseSchema],
    externalId,
    userName: `${externalId}@acme.example`,
    active: true,
    displayName: 'Ana Okoro',
    title: 'Engineer',
    emails: [{ primary: true, type: 'work', value: `${externalId}@acme.example` }],
    meta: { resourceType: 'User' },
    name: { formatted: 'Ana Okoro', familyName: 'Okoro', givenName: 'Ana' },
    roles: [],
    [enterpriseSchema]: { employeeNumber: '17', department: 'Sales' },
    ...more,
  }
}

/** A user as Okta creates it. */
export function oktaUser(login: string, more: object = {}): object {
  const [first = ''] = login.split('@')
  return {
    schemas: [userSchema],
    userName: login,
    name: { givenName: first, familyName: 'Okoro' },
    emails: [{ primary: true, value: login, type: 'work' }],
    displayName: `${first} Okoro`,
    locale: 'en-US',
    externalId: `00u-${first}`,
    groups: [],
    password: 'never-stored-1',
    active: true,
    ...more,
  }
}

/** A patch of the standard. */
export function patchOf(...operations: readonly object[]): object {
  return { schemas: [patchSchema], Operations: operations }
}
