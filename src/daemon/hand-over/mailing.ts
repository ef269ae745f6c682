import { randomUUID } from 'node:crypto'
import { Failure } from '../../errors.ts'
import { backoffMs, type Retry } from '../../queue/backoff.ts'
import { claimMail, closeMail, hasNewFaultsForHr, type MailClaim, postponeMail } from '../../store/rejects/hand-over.ts'
import type { Db } from '../../store/schema.ts'
import { repeat } from '../../system/repeat.ts'
import type { Events } from '../../telemetry/events.ts'
import { type Mail, sendMail } from '../alerts/smtp.ts'
import type { AlertSettings, SmtpChannel, Unsent } from '../config/channel.ts'
import type { HandOverMails } from '../config/hand-over-settings.ts'
import { latestSlot } from '../schedules/schedules.ts'
import { handOverMail } from './mail.ts'
import { type AddNames, readHandOver } from './read.ts'

/** What the mails to HR need. */
type MailingContext = {
  readonly db: Db
  readonly mails: HandOverMails
  readonly alerts: Pick<AlertSettings, 'channels' | 'consoleUrl'>
  readonly addNames: AddNames
  readonly events: Events
  readonly now: () => Date
}

const checkMs = 10_000
/** Mail servers may check a sender before they answer, and an attachment takes time. */
const timeoutMs = 60_000
/** Rare enough for a server that is down, frequent enough to reach it soon after it is back. */
const retry: Retry = { attempts: Number.POSITIVE_INFINITY, firstSeconds: 60, mostSeconds: 15 * 60 }

/** Mails HR what it has to correct, by the schedule, until disposed. */
export function startMailing(context: MailingContext, { pauseMs = checkMs } = {}): AsyncDisposable {
  const stopping = new AbortController()
  const checking = repeat(() => mailIfDue(context, stopping.signal), {
    pauseMs,
    onError: (error) => context.events.unexpected({ during: 'mails to HR', error }),
  })
  return {
    async [Symbol.asyncDispose]() {
      stopping.abort()
      await checking[Symbol.asyncDispose]()
    },
  }
}

/**
 * Sends the mail of the newest slot if anything is new. The mail is sent at least once, whichever process sends it, and twice only if a
 * process dies between the server's answer and the note of it.
 */
export async function mailIfDue(context: MailingContext, signal: AbortSignal): Promise<void> {
  const { db, mails, events, now } = context
  const slot = latestSlot(mails.schedule, now())
  const claim = slot && (await claimMail(db, { slot: slot.name, now: now() }))
  if (!claim || signal.aborted) return
  if (!(await hasNewFaultsForHr(db, mails))) {
    await closeMail(db, claim, { faults: [], values: false, now: now() })
    return
  }
  const { list, faults } = await readHandOver(db, { ...mails, now: now(), addNames: context.addNames })
  const mail = await handOverMail(list, {
    ...mails,
    link: linkOf(context.alerts.consoleUrl),
    messageId: `<${randomUUID()}@${mailChannel(context).from.split('@').at(-1)}>`,
  })
  const unsent = await trySend(context, mail, signal)
  if (unsent !== null && !unsent.isTakenByOthers) return await postpone(context, claim, unsent)
  const values = mails.attachment !== 'none' || mails.valuesInBody
  const isOurs = await closeMail(db, claim, { faults, values, failure: unsent?.failure ?? null, now: now() })
  if (isOurs) events.handOverSent({ entries: faults.length, departures: list.departures })
}

function linkOf(consoleUrl: URL | null): string | null {
  return consoleUrl === null ? null : new URL('/problems/hr', consoleUrl).href
}

async function trySend(context: MailingContext, mail: Mail, signal: AbortSignal): Promise<Unsent | null> {
  const { mails } = context
  try {
    return await sendMail(mailChannel(context), mail, { name: mails.channel, timeoutMs, signal })
  } catch (error) {
    // A secret or a package that is missing may be there at the next attempt.
    if (error instanceof Failure) return { failure: error.message }
    throw error
  }
}

type ChannelSource = {
  readonly mails: Pick<HandOverMails, 'channel' | 'to'>
  readonly alerts: Pick<AlertSettings, 'channels'>
}

/** The channel with the recipients of HR. The configuration was refused without such a channel. */
export function mailChannel({ mails, alerts }: ChannelSource): SmtpChannel {
  const channel = alerts.channels.find(({ name }) => name === mails.channel)
  if (channel?.type !== 'smtp') throw new Error(`there is no mail channel ${mails.channel}`)
  return { ...channel, to: mails.to }
}

async function postpone(
  { db, mails, events, now }: MailingContext,
  claim: MailClaim,
  { failure }: Unsent,
): Promise<void> {
  const { attempts: attempt } = claim
  events.handOverUnsent({ channel: mails.channel, attempt, reason: failure })
  const retryAt = new Date(now().getTime() + backoffMs(attempt, retry))
  await postponeMail(db, claim, { failure, retryAt, now: now() })
}
