import { createHash } from 'node:crypto'
import { backoffMs, type Retry } from '../../queue/backoff.ts'
import { type ChannelFilter, recordConditions } from '../../store/alerts/alerts.ts'
import { type ConditionKind, conditionKinds } from '../../store/alerts/condition.ts'
import { findConditions } from '../../store/alerts/conditions.ts'
import {
  type ClaimedNotification,
  claimNotifications,
  countMessages,
  makeNotificationsDueNow,
  recordSent,
  recordUnsent,
} from '../../store/alerts/notifications.ts'
import type { Db } from '../../store/schema.ts'
import { repeat } from '../../system/repeat.ts'
import type { Events } from '../../telemetry/events.ts'
import {
  type AlertChange,
  type AlertSettings,
  type ChannelSettings,
  logChannel,
  type Message,
  type Sender,
  type Unsent,
} from '../config/channel.ts'
import { conditionSettings, type MonitoredConnections } from './freshness.ts'
import { alertLinks } from './links.ts'
import { createSender, sendBy } from './senders.ts'

type AlertContext = {
  readonly db: Db
  readonly settings: AlertSettings
  readonly monitored: MonitoredConnections
  readonly events: Events
  readonly now: () => Date
}

/** Only HR or a decision can resolve these. They are reminded of weekly, because nightly reminders would be ignored. */
const slowKinds: ReadonlySet<ConditionKind> = new Set(['blockedPeople', 'foreign'])
const reminderIntervalsOfSlowKinds = 7

const checkMs = 10_000
const hourMs = 60 * 60_000
const maxMessagesPerTurn = 50
const maxAlertsPerMessage = 1000
/** Rare enough for a receiver that is down, frequent enough to reach it soon after it is back. */
const retry: Retry = { attempts: Number.POSITIVE_INFINITY, firstSeconds: 2, maxSeconds: 15 * 60 }
/** Maximum pause that a receiver can request. */
const maxPauseMs = hourMs

/** Checks alert conditions and sends notifications, repeatedly until disposed. */
export function startAlerts(context: AlertContext, { pauseMs = checkMs } = {}): AsyncDisposable {
  const alerting = createAlerting(context)
  const checking = repeat(alerting.recordAndNotify, {
    pauseMs,
    onError: (error) => context.events.unexpected({ during: 'alerts', error }),
  })
  return {
    async [Symbol.asyncDispose]() {
      // First, so that the current check does not wait for a receiver.
      await alerting[Symbol.asyncDispose]()
      await checking[Symbol.asyncDispose]()
    },
  }
}

/** Checks alert conditions and sends notifications. */
export type AlertService = AsyncDisposable & {
  /** Opens and closes alerts by their conditions, and starts to send on each channel that is not sending already. */
  recordAndNotify(): Promise<void>
  /** Resolves when nothing is being sent. */
  idle(): Promise<void>
}

/**
 * Opens and closes alerts by their conditions, and sends the notifications that are due. Every notification is sent at least once to each
 * channel, whichever process sends it, and more than once only if a process dies while it sends. Channels do not wait for each other.
 */
export function createAlerting(context: AlertContext, { timeoutMs }: { timeoutMs?: number } = {}): AlertService {
  const { db, settings, monitored, events, now } = context
  const stopping = new AbortController()
  const channels = [
    { ...logChannel, sender: logSender(events) },
    ...settings.channels.map((channel) => ({
      ...channel,
      sender: createSender(channel, { linkOf: alertLinks(settings), timeoutMs }),
    })),
  ]
  const filters = channels.map(({ name, connections, kinds }): ChannelFilter => ({ name, connections, kinds }))
  const lines = channels.map((channel) => createLine(context, channel, stopping.signal))

  return {
    async recordAndNotify() {
      const at = now()
      const { current: conditions, failures } = await findConditions(db, conditionSettings(monitored, settings, at))
      // An unreachable store is one failure instead of one for each kind.
      if (failures.length === conditionKinds.length) throw failures[0]?.error
      for (const { error } of failures) events.unexpected({ during: 'alerts', error })
      await recordConditions(db, conditions, {
        channels: filters,
        unknownKinds: failures.map(({ kind }) => kind),
        now: at,
      })
      for (const line of lines) line.start()
    },
    async idle() {
      await Promise.all(lines.map((line) => line.ended()))
    },
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await this.idle()
      for (const { sender } of channels) await sender[Symbol.asyncDispose]()
    },
  }
}

type Channel = Pick<ChannelSettings, 'name' | 'perHour'> & { readonly sender: Sender }

/** One channel's messages, one after the other. */
type Line = {
  /** Begins to send what is due, unless it is sending already. */
  start(): void
  ended(): Promise<void>
}

function createLine(context: AlertContext, channel: Channel, signal: AbortSignal): Line {
  const { events } = context
  const state: LineState = { pausedUntil: null }
  let sending: Promise<void> | null = null
  return {
    start() {
      if (signal.aborted) return
      sending ??= sendDue(context, channel, { state, signal })
        .catch((error: unknown) => events.unexpected({ during: 'alerts', error }))
        .finally(() => {
          sending = null
        })
    },
    async ended() {
      await sending
    },
  }
}

type LineState = {
  /** The end of the pause that the receiver requested; null: it requested none. */
  pausedUntil: Date | null
}
type SendContext = { readonly state: LineState; readonly signal: AbortSignal }

/** Sends due notifications, the oldest alert first. Stops at the first failure, because further ones would fail too. */
async function sendDue(context: AlertContext, channel: Channel, sending: SendContext): Promise<void> {
  const { db, now } = context
  const { state, signal } = sending
  for (let sent = 0; sent < maxMessagesPerTurn && !signal.aborted; sent++) {
    const at = now()
    if (state.pausedUntil !== null && at < state.pausedUntil) return
    if (!(await hasBudget(db, channel, at))) return
    // A channel with a limit is read by people, who get all due alerts in one message. Programs get a message for each alert.
    const limit = channel.perHour === null ? 1 : maxAlertsPerMessage
    const claims = await claimNotifications(db, { channel: channel.name, limit, now: at })
    if (claims.length === 0 || !(await notify(context, channel, { ...sending, claims }))) return
    await makeNotificationsDueNow(db, { channel: channel.name, now: now() })
  }
}

/** Whether the hourly limit of the channel allows another message. */
async function hasBudget(db: Db, { name, perHour }: Channel, now: Date): Promise<boolean> {
  if (perHour === null) return true
  return (await countMessages(db, { channel: name, since: new Date(now.getTime() - hourMs) })) < perHour
}

type Batch = SendContext & { readonly claims: readonly ClaimedNotification[] }

/** Sends one message about the claimed notifications. False if it was not sent. */
async function notify(context: AlertContext, channel: Channel, { state, signal, claims }: Batch): Promise<boolean> {
  const { db, settings, now } = context
  // A process that was suspended must not send outdated notifications.
  if (claims.some(({ until }) => now() >= until)) return false
  const unsent = await sendBy(channel.sender, noticeOf(claims, now()), signal)
  if (unsent !== null && !signal.aborted) logUnsent(context.events, channel, { claims, unsent })
  if (unsent === null || unsent.isPartlyDelivered) {
    const at = now()
    const due = claims.map((claim) => ({ ...claim, remindAt: remindAt(claim, settings, at) }))
    return await recordSent(db, { claims: due, failure: unsent?.failure ?? null, now: at })
  }
  const waitMs = Math.min(unsent.retryAfterMs ?? 0, maxPauseMs)
  if (waitMs > 0) state.pausedUntil = new Date(now().getTime() + waitMs)
  for (const claim of claims) {
    const pauseMs = signal.aborted ? 0 : Math.max(waitMs, backoffMs(claim.attempt, retry))
    await recordUnsent(db, claim, { failure: unsent.failure, retryAt: new Date(now().getTime() + pauseMs) })
  }
  return false
}

function noticeOf(claims: readonly ClaimedNotification[], now: Date): Message {
  const changes = claims.map(({ alert, type, sentBefore }): AlertChange => ({ type, alert, sentBefore }))
  const ids = changes.map(({ alert, sentBefore }) => `${alert.id}_${sentBefore + 1}`)
  const [id] = ids
  const [only] = changes
  if (id !== undefined && only !== undefined && changes.length === 1) return { ...only, id, now }
  return { type: 'group', changes, id: createHash('sha256').update(ids.join()).digest('hex'), now }
}

function remindAt({ alert }: ClaimedNotification, { remindHours }: AlertSettings, now: Date): Date {
  const pauses = slowKinds.has(alert.kind) ? reminderIntervalsOfSlowKinds : 1
  return new Date(now.getTime() + pauses * remindHours * hourMs)
}

type UnsentBatch = { readonly claims: readonly ClaimedNotification[]; readonly unsent: Unsent }

function logUnsent(events: Events, { name }: Channel, { claims, unsent }: UnsentBatch): void {
  const [first] = claims
  if (!first) return
  const { alert, attempt } = first
  events.alertUnsent({
    channel: name,
    alertId: alert.id,
    connection: alert.connection,
    alerts: claims.length,
    attempt,
    reason: unsent.failure,
  })
}

/** The log is a channel like the others, so that each notification is logged once, also after a crash. */
function logSender(events: Events): Sender {
  return {
    async send(notice) {
      if (!('alert' in notice)) return null
      const { alert, sentBefore } = notice
      const { id: alertId, connection, kind, code, reason, people, leavers, runId } = alert
      const since = alert.since.toISOString()
      if (notice.type === 'cleared') events.alertCleared({ alertId, connection, kind, since })
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
      return null
    },
    async [Symbol.asyncDispose]() {},
  }
}
