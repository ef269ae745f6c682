import { Failure } from '../../errors.ts'
import { backoffMs, type Retry } from '../../queue/backoff.ts'
import {
  type ClaimedNotification,
  claimNotification,
  hastenNotifications,
  noteConditions,
  noteSent,
  noteUnsent,
} from '../../store/alerts/alerts.ts'
import { type ConditionKind, conditions } from '../../store/alerts/conditions.ts'
import type { Db } from '../../store/schema.ts'
import type { Events } from '../../telemetry/events.ts'
import type { Secret } from '../config/secret.ts'
import { repeat } from '../repeat.ts'
import { alertMessage } from './message.ts'
import { createPoster, type Poster } from './post.ts'

export type AlertSettings = {
  /** Where alerts are posted; null: they are only logged. May hold a token. */
  readonly url: Secret | null
  /** Signs what is posted; set if `url` is. */
  readonly secret: Secret | null
  readonly overdueMinutes: number
  readonly remindHours: number
}

export type AlertContext = {
  readonly db: Db
  readonly settings: AlertSettings
  /** The connections of the configuration. */
  readonly connections: readonly string[]
  readonly events: Events
  readonly now: () => Date
}

/** What only HR can mend may stay for weeks. A reminder each night would teach people to pass over it. */
const settledKinds: ReadonlySet<ConditionKind> = new Set(['unserved'])
const pausesWhenSettled = 7

const lookMs = 10_000
const postTimeoutMs = 10_000
const notificationsInOneTurn = 50
/** Rare enough for a receiver that is down, frequent enough to reach it soon after it is back. */
const retry: Retry = { attempts: Number.POSITIVE_INFINITY, firstSeconds: 2, mostSeconds: 15 * 60 }

/** Looks for alert conditions and sends notifications of them, repeatedly until disposed. */
export function startAlerts(context: AlertContext, { pauseMs = lookMs } = {}): AsyncDisposable {
  const alerting = createAlerting(context)
  const looking = repeat(alerting.turn, {
    pauseMs,
    failed: (error) => context.events.unexpected({ during: 'alerts', error }),
  })
  return {
    async [Symbol.asyncDispose]() {
      // First, so that the turn under way does not wait for a receiver.
      await alerting[Symbol.asyncDispose]()
      await looking[Symbol.asyncDispose]()
    },
  }
}

/** Looks for alert conditions and sends notifications of them. */
export type Alerting = AsyncDisposable & { turn(): Promise<void> }

/**
 * Compares what is wrong with the open alerts, and sends the notifications that are due. Over many turns, in any number of processes,
 * each is sent at least once, and more than once only if a process dies while it sends.
 */
export function createAlerting(context: AlertContext, { timeoutMs = postTimeoutMs } = {}): Alerting {
  const stopping = new AbortController()
  const poster = createPoster({ timeoutMs })
  return {
    async turn() {
      const { db, connections, settings, now } = context
      const at = now()
      await noteConditions(
        db,
        await conditions(db, { connections, overdueMinutes: settings.overdueMinutes, now: at }),
        at,
      )
      await notifyDue(context, poster, stopping.signal)
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await poster[Symbol.asyncDispose]()
    },
  }
}

/** Sends what is due, the oldest alert first. Stops at the first that the receiver does not take: the others would fare no better. */
async function notifyDue(context: AlertContext, poster: Poster, signal: AbortSignal): Promise<void> {
  const { db, now } = context
  for (let sent = 0; sent < notificationsInOneTurn && !signal.aborted; sent++) {
    const claim = await claimNotification(db, now())
    if (!claim || !(await notify(context, claim, poster, signal))) return
    await hastenNotifications(db, now())
  }
}

/** False if it was not sent. */
async function notify(
  { db, settings, events, now }: AlertContext,
  claim: ClaimedNotification,
  poster: Poster,
  signal: AbortSignal,
): Promise<boolean> {
  const { alert, attempt } = claim
  // One line for each notification. A process that died may not have written it.
  if (attempt === 1 || claim.abandoned) log(events, claim)
  // A process that was stopped meanwhile does not send old news.
  if (now() >= claim.until) return false
  const failure = await post(settings, claim, { poster, signal, now: now() })
  if (failure === null) {
    const at = now()
    const pauses = settledKinds.has(alert.kind) ? pausesWhenSettled : 1
    const remindAt = new Date(at.getTime() + pauses * settings.remindHours * 60 * 60_000)
    return await noteSent(db, claim, { now: at, remindAt })
  }
  const pauseMs = signal.aborted ? 0 : backoffMs(attempt, retry)
  await noteUnsent(db, claim, { failure, retryAt: new Date(now().getTime() + pauseMs) })
  if (!signal.aborted) events.alertUnsent({ alertId: alert.id, connection: alert.connection, attempt, reason: failure })
  return false
}

function log(events: Events, { alert, type, sentBefore }: ClaimedNotification): void {
  const { id: alertId, connection, kind, code, reason, people, leavers, runId } = alert
  const since = alert.since.toISOString()
  if (type === 'cleared') events.alertCleared({ alertId, connection, kind, since })
  else
    events.alertRaised({
      alertId,
      connection,
      kind,
      code,
      reason,
      since,
      people,
      leavers,
      runId,
      reminder: sentBefore > 0,
    })
}

/** Null if it was posted, or if no address is configured; otherwise why it could not be posted. */
async function post(
  { url, secret }: AlertSettings,
  claim: ClaimedNotification,
  { poster, signal, now }: { poster: Poster; signal: AbortSignal; now: Date },
): Promise<string | null> {
  if (!url || !secret) return null
  try {
    const message = {
      url: await url.read(),
      secret: await secret.read(),
      id: `${claim.alert.id}_${claim.sentBefore + 1}`,
      body: JSON.stringify(alertMessage(claim, now)),
      now,
    }
    const failure = await poster.post(message, signal)
    return failure === null ? null : `${URL.parse(message.url)?.host ?? 'alerts.url'} ${failure}`
  } catch (error) {
    // A secret that cannot be read, or cannot sign, may be corrected before the next attempt.
    if (error instanceof Failure) return error.message
    throw error
  }
}
