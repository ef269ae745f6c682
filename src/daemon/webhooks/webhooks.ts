import { randomBytes } from 'node:crypto'
import type { FastifyInstance } from 'fastify'
import { type JsonValue, pointer, readJson } from '../../connectors/json/cells.ts'
import { deduplicationKey } from '../../connectors/webhook/deduplication.ts'
import type { WebhookHeaders } from '../../connectors/webhook/headers.ts'
import { isPing } from '../../connectors/webhook/named-recipes.ts'
import { resolveRecipe, WebhookSettings } from '../../connectors/webhook/settings.ts'
import { verifyWebhook } from '../../connectors/webhook/verify.ts'
import { Failure } from '../../errors.ts'
import { Refusal, refuse } from '../../http/refusal.ts'
import { countRefusals, type RefusalCounts } from '../../http/server/refusal-counts.ts'
import { addEvents, type NewEvent, pendingCount } from '../../store/inbox/inbox.ts'
import { ensureConnection } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import { describeError } from '../../telemetry/describe-error.ts'
import type { Events } from '../../telemetry/events.ts'
import { createInboxCapacity, type InboxCapacity } from './capacity.ts'
import { createEventBatches, type EventBatches, type Receipt } from './event-batches.ts'
import { type RawBody, takeRawBodies } from './raw-bodies.ts'

type ServedWebhook = {
  readonly settings: WebhookSettings
  /** The secrets that are valid now. */
  readonly secrets: () => Promise<readonly string[]>
}

/** What webhooks are served with. */
export type WebhooksOptions = {
  /** The webhooks by the name of their connection, which is the last segment of their path. */
  readonly feeds: ReadonlyMap<string, ServedWebhook>
  readonly db: Db
  readonly now: () => Date
  readonly events: Events
  readonly limits?: Partial<typeof usualLimits>
}

/** The type of test events, which are never planned. */
export const testType = 'rollcall.test'

const usualLimits = {
  /** How long the body of a request may take to arrive. */
  arrivalMs: 10_000,
  /** How long a sender waits for the store. */
  patienceMs: 3000,
  /** How many bytes the bodies of all requests may hold together. */
  budgetBytes: 64 * 1024 * 1024,
}
const secretsKeptMs = 1000
const retryAfterSeconds = '5'
const fullRetryAfterSeconds = '60'
const unknownBodyLimitBytes = 64 * 1024
const unprintable = /\p{C}/u
/** The connection of requests to an unknown name. No connection can be called this. */
const unknown = '(unknown)'

type Answer = { readonly received: string; readonly duplicate?: true } | { readonly ping: true }
type Receiver = Pick<WebhooksOptions, 'now' | 'events'> & {
  readonly batches: EventBatches
  readonly capacity: InboxCapacity
  readonly refusals: RefusalCounts
}
type Feed = ServedWebhook & { readonly connection: string }
type IncomingRequest = { readonly headers: WebhookHeaders; readonly body: Buffer; readonly sender: string }

/** Serves `POST /webhooks/NAME` for each feed. The answer is 200 only if the event is committed, was committed before, or need not be stored. */
export async function serveWebhooks(app: FastifyInstance, options: WebhooksOptions): Promise<void> {
  const { feeds, db } = options
  const capacity = createInboxCapacity((connection) => pendingCount(db, connection))
  for (const connection of feeds.keys()) {
    await ensureConnection(db, connection)
    await capacity.count(connection)
  }
  const limits = { ...usualLimits, ...options.limits }
  const refusals = countRefusals(({ subject: connection, ...refused }) =>
    options.events.webhookRefused({ connection, ...refused }),
  )
  app.addHook('onClose', async () => refusals[Symbol.dispose]())
  const receiver = { ...options, capacity, refusals, batches: openBatches(options, limits) }

  await app.register(async (scope) => {
    takeRawBodies(scope, limits)
    for (const [connection, feed] of feeds) {
      const secrets = remembered(feed.secrets, secretsKeptMs)
      serve(`/webhooks/${connection}`, feed.settings.bodyLimitBytes, (request) =>
        receive(receiver, { connection, settings: feed.settings, secrets }, request),
      )
    }
    const noFeed = unknownFeed()
    serve('/webhooks/:name', unknownBodyLimitBytes, (request) => receive(receiver, noFeed, request))

    function serve(url: string, bodyLimit: number, answer: (request: IncomingRequest) => Promise<Answer>): void {
      scope.post<{ Body: RawBody }>(url, { bodyLimit, config: { anyHost: true } }, async ({ raw, body, ip }) => {
        using received = body
        return await answer({ headers: raw.headersDistinct, body: received.bytes, sender: ip })
      })
    }
  })
}

async function receive(receiver: Receiver, feed: Feed, request: IncomingRequest): Promise<Answer> {
  try {
    return await take(receiver, feed, request)
  } catch (error) {
    if (error instanceof Refusal) throw error
    if (!(error instanceof Failure)) receiver.events.unexpected({ during: 'webhooks', error })
    else receiver.events.webhookFailed({ connection: feed.connection, reason: error.message })
    throw unavailableRefusal()
  }
}

async function take(receiver: Receiver, feed: Feed, { headers, body, sender }: IncomingRequest): Promise<Answer> {
  const { connection, settings } = feed
  const now = receiver.now()
  const recipe = resolveRecipe(settings)
  const { toleranceSeconds } = settings
  // Verified also for unknown names, so that every answer takes the same time.
  const verified = verifyWebhook({ recipe, secrets: await feed.secrets(), headers, body, now, toleranceSeconds })
  if (connection === unknown) throw countRefusal('unknown name', refuse('NotFound', 'there is no webhook of this name'))
  // Senders test the address with exactly this body, unsigned. It is answered and never stored.
  if (isPing(recipe, body)) return { ping: true }
  if (!verified.ok)
    throw countRefusal(verified.message, refuse('Unauthorized', 'the request is not signed as it must be'))

  const value = readValue(body)
  const { id, key } = deduplicationKey({ settings, verified, body, value })
  using reservation = receiver.capacity.reserve(connection, settings.inboxLimit)
  if (reservation === null) throw countRefusal('the inbox is full', full())
  const receipt = await storeEvent({
    connection,
    key,
    eventId: id === null || unprintable.test(id) ? null : id,
    signedAt: verified.timestamp,
    receivedAt: now,
    body,
    isTest: pointer(value, '/type') === testType,
  })
  if (receipt === 'stored') reservation.added()
  return { received: id ?? key, ...(receipt === 'seen before' && { duplicate: true }) }

  function countRefusal(reason: string, refusal: Refusal): Refusal {
    receiver.refusals.count({ subject: connection, reason, sender })
    return refusal
  }

  function readValue(bytes: Uint8Array): JsonValue {
    try {
      return readJson(bytes, { name: 'the body' })
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      throw countRefusal(error.message, refuse('MalformedBody', error.message))
    }
  }

  async function storeEvent(event: NewEvent): Promise<Receipt> {
    try {
      return await receiver.batches.add(event)
    } catch {
      // The batch has reported the reason.
      throw unavailableRefusal()
    }
  }
}

function openBatches({ db, events }: WebhooksOptions, { patienceMs }: { readonly patienceMs: number }): EventBatches {
  return createEventBatches({
    patienceMs,
    store: (batch) => addEvents(db, batch),
    committed: (batch, receipts) => {
      for (const connection of connectionsOf(batch)) {
        const indexes = [...batch.keys()].filter((index) => batch[index]?.connection === connection)
        const stored = indexes.filter((index) => receipts[index] === 'stored').length
        events.webhookStored({ connection, stored, duplicates: indexes.length - stored })
      }
    },
    failed: (batch, error) => {
      const { message, code, type } = describeError(error)
      for (const connection of connectionsOf(batch))
        events.webhookFailed({ connection, reason: message ?? code ?? type })
    },
  })
}

function connectionsOf(batch: readonly NewEvent[]): Set<string> {
  return new Set(batch.map(({ connection }) => connection))
}

/** The feed against which requests to unknown names are checked, so that the time of an answer does not reveal which names exist. */
function unknownFeed(): Feed {
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const settings = WebhookSettings.parse({ recipe: 'standard-webhooks', secrets: [secret] })
  return { connection: unknown, settings, secrets: async () => [secret] }
}

/** Reads at most once in `keptMs`. */
function remembered<T>(read: () => Promise<T>, keptMs: number): () => Promise<T> {
  let last: { readonly value: Promise<T>; readonly readAtMs: number } | null = null
  return () => {
    if (last === null || performance.now() - last.readAtMs > keptMs)
      last = { value: read(), readAtMs: performance.now() }
    return last.value
  }
}

function unavailableRefusal(): Refusal {
  const headers = { 'retry-after': retryAfterSeconds }
  return new Refusal(503, 'the event could not be stored; send it again', { headers })
}

function full(): Refusal {
  const headers = { 'retry-after': fullRetryAfterSeconds }
  return new Refusal(429, 'too many events wait to be planned; send it again later', { headers })
}
