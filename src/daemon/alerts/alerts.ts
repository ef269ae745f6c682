import { Failure } from '../../errors.ts'
import { backoffMs, type Retry } from '../../queue/backoff.ts'
import {
  type ClaimedTelling,
  claimTelling,
  hastenTellings,
  noteTold,
  noteConditions,
  noteUntold,
} from '../../store/alerts/alerts.ts'
import type { Db } from '../../store/schema.ts'
import { conditions } from '../../store/alerts/conditions.ts'
import type { Events } from '../../telemetry/events.ts'
import { alertMessage } from './message.ts'
import { createPoster, type Poster } from './post.ts'
import { repeat } from '../repeat.ts'
import type { Secret } from '../config/secret.ts'

export type AlertSettings = {
  /** Where alerts are posted; null: they are logged only. May hold a token. */
  readonly url: Secret | null
  /** Signs what is posted; there where `url` is. */
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

const lookMs = 10_000
const postTimeoutMs = 10_000
const tellingsInOneTurn = 50
/** Seldom enough for a receiver that is down, often enough to be heard soon after it is back. */
const retry: Retry = { attempts: Number.POSITIVE_INFINITY, firstSeconds: 2, mostSeconds: 15 * 60 }

/** Looks for alert conditions and tells of them, again and again until disposed. */
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

/** What looks for alert conditions and tells of them. */
export type Alerting = AsyncDisposable & { turn(): Promise<void> }

/**
 * Compares what is wrong with the open alerts, and tells what has not been told. Turn after turn, in any number of processes, each
 * alert is told at least once, and once only where nobody dies on it.
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
      await tellDue(context, poster, stopping.signal)
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await poster[Symbol.asyncDispose]()
    },
  }
}

/** Tells what is due, the oldest alert first, and stops at the first that the receiver does not take: the others would fare no better. */
async function tellDue(context: AlertContext, poster: Poster, signal: AbortSignal): Promise<void> {
  const { db, now } = context
  for (let told = 0; told < tellingsInOneTurn && !signal.aborted; told++) {
    const claim = await claimTelling(db, now())
    if (!claim || !(await tell(context, claim, poster, signal))) return
    await hastenTellings(db, now())
  }
}

/** False where it was not told. */
async function tell(
  { db, settings, events, now }: AlertContext,
  claim: ClaimedTelling,
  poster: Poster,
  signal: AbortSignal,
): Promise<boolean> {
  const { alert, attempt } = claim
  // One line for each telling. Whoever died on it may not have come to that.
  if (attempt === 1 || claim.abandoned) log(events, claim)
  // Who stood still meanwhile does not come in with old news.
  if (now() >= claim.until) return false
  const failure = await post(settings, claim, { poster, signal, now: now() })
  if (failure === null) {
    const at = now()
    return await noteTold(db, claim, { now: at, remindAt: new Date(at.getTime() + settings.remindHours * 60 * 60_000) })
  }
  const pauseMs = signal.aborted ? 0 : backoffMs(attempt, retry)
  await noteUntold(db, claim, { failure, retryAt: new Date(now().getTime() + pauseMs) })
  if (!signal.aborted) events.alertUntold({ alertId: alert.id, connection: alert.connection, attempt, reason: failure })
  return false
}

function log(events: Events, { alert, type, telling }: ClaimedTelling): void {
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
      reminder: telling > 0,
    })
}

/** Null where it was posted, or has nowhere to be posted to. */
async function post(
  { url, secret }: AlertSettings,
  claim: ClaimedTelling,
  { poster, signal, now }: { poster: Poster; signal: AbortSignal; now: Date },
): Promise<string | null> {
  if (!url || !secret) return null
  try {
    const message = {
      url: await url.read(),
      secret: await secret.read(),
      id: `${claim.alert.id}_${claim.telling + 1}`,
      body: JSON.stringify(alertMessage(claim, now)),
      now,
    }
    const failure = await poster.post(message, signal)
    return failure === null ? null : `${URL.parse(message.url)?.host ?? 'alerts.url'} ${failure}`
  } catch (error) {
    // A secret that cannot be read, or cannot sign, may be mended before the next attempt.
    if (error instanceof Failure) return error.message
    throw error
  }
}
