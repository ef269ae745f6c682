import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { resolveRecipe, WebhookSettings } from '../../../src/connectors/webhook/settings.ts'
import { signWebhook } from '../../../src/connectors/webhook/sign.ts'
import { serveWebhooks, type WebhooksOptions } from '../../../src/daemon/webhooks/webhooks.ts'
import { openDatabase } from '../../../src/database/database.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { listEvents } from '../../../src/store/inbox/review.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import { type Event, silentEvents } from '../../../src/telemetry/events.ts'
import { createPostgresDatabase, type TestDatabase } from '../servers/databases.ts'

const Body = z.record(z.string(), z.unknown())

export const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'

type Settings = Omit<z.input<typeof WebhookSettings>, 'secrets'>

export type Serving = Partial<Pick<WebhooksOptions, 'limits' | 'now'>> & {
  readonly createDatabase?: () => Promise<TestDatabase>
  /** The webhook of the connection acme; beta has one with the usual settings. */
  readonly settings?: Partial<Settings>
  readonly secrets?: () => Promise<readonly string[]>
}

export type Answered = { readonly status: number; readonly body: Record<string, unknown>; readonly headers: Headers }

/** Webhooks for acme and beta on a free port, over a store of their own. */
export async function serveInbox({
  createDatabase = createPostgresDatabase,
  settings = {},
  secrets = async () => [secret],
  limits = {},
  now = () => new Date(),
}: Serving = {}) {
  await using opening = new AsyncDisposableStack()
  const { at } = opening.use(await createDatabase())
  const store = opening.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
  const loggedEvents: Event[] = []
  const acme = settingsOf(settings)
  const feeds = new Map([
    ['acme', { settings: acme, secrets }],
    ['beta', { settings: settingsOf({}), secrets: async () => [secret] }],
  ])
  const app = await createApp()
  const events = silentEvents((event) => loggedEvents.push(event))
  await serveWebhooks(app, { feeds, db: store.db, now, events, limits })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  opening.defer(() => app.close())
  const opened = opening.move()
  const signed = (body: string | Uint8Array, { id, key, at: sentAt }: Signing = {}) =>
    signWebhook({
      recipe: resolveRecipe(acme),
      secret: key ?? secret,
      id: id ?? randomUUID(),
      body: Buffer.from(body),
      now: sentAt ?? now(),
    })

  return {
    app,
    url,
    store,
    /** The events that were logged. */
    loggedEvents,
    signed,
    /** Posts a body with the headers of a signed event. `headers` override them. */
    async send(body: string | Uint8Array, { to = 'acme', headers = {}, ...sign }: SendOptions = {}): Promise<Answered> {
      return await post(`${url}/webhooks/${to}`, body, { ...signed(body, sign), ...headers })
    },
    post: (path: string, body: string | Uint8Array, headers: Readonly<Record<string, string>>) =>
      post(`${url}${path}`, body, headers),
    inbox: () => listEvents(store.db),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  }
}

type Signing = { readonly id?: string; readonly key?: string; readonly at?: Date }
type SendOptions = Signing & { readonly to?: string; readonly headers?: Readonly<Record<string, string>> }

export function settingsOf(settings: Partial<Settings>): WebhookSettings {
  return WebhookSettings.parse({ recipe: 'standard-webhooks', secrets: [secret], ...settings })
}

async function post(
  url: string,
  body: string | Uint8Array,
  headers: Readonly<Record<string, string>>,
): Promise<Answered> {
  const response = await fetch(url, { method: 'POST', body: Buffer.from(body), headers })
  return { status: response.status, body: Body.parse(await response.json()), headers: response.headers }
}
