import { randomUUID } from 'node:crypto'
import { Failure } from '../../errors.ts'
import { backoffMs, type Retry } from '../../queue/backoff.ts'
import type { Db } from '../../store/schema.ts'
import { claimWeekly, closeWeekly, postponeWeekly, releaseWeekly, type WeeklyClaim } from '../../store/weekly/mails.ts'
import { repeat } from '../../system/repeat.ts'
import type { Events } from '../../telemetry/events.ts'
import { sendMail, answerTimeoutMs as timeoutMs } from '../alerts/smtp.ts'
import type { AlertSettings, Unsent } from '../config/channel.ts'
import type { WeeklyMails } from '../config/weekly-settings.ts'
import { mailChannel } from '../hand-over/mailing.ts'
import { latestSlot, type Slot } from '../schedules/schedules.ts'
import { weeklyMail } from './mail.ts'
import { readWeek, type WeekQuery } from './read.ts'

/** What the summary needs. `connections` has all that it may be about, with the schedule by which each is read. */
type WeeklyContext = Pick<WeekQuery, 'connections' | 'connectionsWithoutTwoPeople'> & {
  readonly db: Db
  readonly mails: WeeklyMails
  readonly alerts: Pick<AlertSettings, 'channels' | 'consoleUrl'>
  readonly events: Events
  readonly now: () => Date
}

const checkMs = 10_000
const dayMs = 24 * 60 * 60_000
/** After a longer silence, a summary is about this time only. */
const maxPeriodMs = 31 * dayMs
const retry: Retry = { attempts: Number.POSITIVE_INFINITY, firstSeconds: 60, maxSeconds: 15 * 60 }

/** Mails the weekly summary until disposed. */
export function startWeekly(context: WeeklyContext, { pauseMs = checkMs } = {}): AsyncDisposable {
  const stopping = new AbortController()
  const checking = repeat(() => mailWeekIfDue(context, stopping.signal), {
    pauseMs,
    onError: (error) => context.events.unexpected({ during: 'the weekly summary', error }),
  })
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await checking[Symbol.asyncDispose]()
    },
  }
}

/**
 * Sends the summary of the newest slot, about the time since the one that was mailed before it. It is sent at least once, whichever process
 * sends it, and twice only if nobody learns that the server took it. One that was missed is sent late.
 */
export async function mailWeekIfDue(context: WeeklyContext, signal: AbortSignal): Promise<void> {
  const { db, mails, now } = context
  const slot = latestSlot(mails.schedule, now())
  const claim = slot && (await claimWeekly(db, { slot: slot.name, now: now() }))
  if (!claim) return
  const unsent = signal.aborted ? { failure: '' } : await trySend(context, { claim, slot, signal })
  if (signal.aborted && unsent !== null) return await releaseWeekly(db, claim)
  if (unsent !== null && !unsent.isPartlyDelivered) return await postpone(context, claim, unsent)
  await closeWeekly(db, claim, { failure: unsent?.failure ?? null, now: now() })
}

type Attempt = { readonly claim: WeeklyClaim; readonly slot: Slot; readonly signal: AbortSignal }

/** Makes the mail and sends it; null if everybody got it. */
async function trySend(context: WeeklyContext, { claim, slot, signal }: Attempt): Promise<Unsent | null> {
  const { db, mails, alerts, events, now } = context
  const { timeZone } = mails.schedule
  const period = { from: periodStart(claim.before, slot, timeZone), to: slot.startsAt, now: now() }
  try {
    const channel = mailChannel({ mails, alerts })
    const week = await readWeek(db, {
      connections: chosenConnections(context),
      connectionsWithoutTwoPeople: context.connectionsWithoutTwoPeople,
      ...period,
    })
    const mail = weeklyMail(week, {
      ...period,
      timeZone,
      link: alerts.consoleUrl?.href ?? null,
      messageId: `<${randomUUID()}@${channel.from.split('@').at(-1)}>`,
    })
    return await sendMail(channel, mail, { name: mails.channel, timeoutMs, signal })
  } catch (error) {
    // A secret or a package that is missing may be there at the next attempt.
    if (error instanceof Failure) return { failure: error.message }
    events.unexpected({ during: 'the weekly summary', error })
    return { failure: 'the summary could not be made; the log has the reason' }
  }
}

/** The slot before, or a week before this one if that was later, as after a change of the settings, or too long ago. */
function periodStart(before: string, slot: Slot, timeZone: string): Date {
  const zoned = Temporal.PlainDateTime.from(before).toZonedDateTime(timeZone)
  const silenceMs = slot.startsAt.getTime() - zoned.epochMilliseconds
  if (silenceMs <= 0) return new Date(slot.startsAt.getTime() - 7 * dayMs)
  return new Date(slot.startsAt.getTime() - Math.min(silenceMs, maxPeriodMs))
}

function chosenConnections({ mails, connections }: WeeklyContext): WeekQuery['connections'] {
  const { connections: names } = mails
  return names === null ? connections : new Map([...connections].filter(([name]) => names.includes(name)))
}

async function postpone(
  { db, mails, events, now }: WeeklyContext,
  claim: WeeklyClaim,
  { failure }: Unsent,
): Promise<void> {
  events.weeklyUnsent({ channel: mails.channel, attempt: claim.attempts, reason: failure })
  const retryAt = new Date(now().getTime() + backoffMs(claim.attempts, retry))
  await postponeWeekly(db, claim, { failure, retryAt, now: now() })
}
