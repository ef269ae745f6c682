import { createHash } from 'node:crypto'
import { Failure } from '../../errors.ts'
import { backoffMs, type Retry } from '../../queue/backoff.ts'
import {
  claimMail,
  closeMail,
  type HandOverFault,
  hasNewFaultsForHr,
  type MailClaim,
  postponeMail,
  releaseMail,
} from '../../store/rejects/hand-over.ts'
import type { Db } from '../../store/schema.ts'
import { repeat } from '../../system/repeat.ts'
import type { Events } from '../../telemetry/events.ts'
import { sendMail, answerTimeoutMs as timeoutMs } from '../alerts/smtp.ts'
import type { AlertSettings, SmtpChannel, Unsent } from '../config/channel.ts'
import type { HandOverMails } from '../config/hand-over-settings.ts'
import { latestSlot } from '../schedules/schedules.ts'
import { handOverMail } from './mail.ts'
import { type AddNames, type Leaders, readHandOver } from './read.ts'

/** What the mails to HR need. */
type MailingContext = {
  readonly db: Db
  readonly mails: HandOverMails
  /** Those that the mails are about. */
  readonly connections: readonly string[]
  readonly leaders: Leaders
  readonly alerts: Pick<AlertSettings, 'channels' | 'consoleUrl'>
  readonly addNames: AddNames
  readonly events: Events
  readonly now: () => Date
}

const checkMs = 10_000
/** Rare enough for a server that is down, frequent enough to reach it soon after it is back. */
const retry: Retry = { attempts: Number.POSITIVE_INFINITY, firstSeconds: 60, maxSeconds: 15 * 60 }

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
 * Sends the mail of the newest slot if anything is new. The mail is sent at least once, whichever process sends it, and twice only if
 * nobody learns that the server took it. Both then have the same Message-ID, by which many servers drop the second.
 */
export async function mailIfDue(context: MailingContext, signal: AbortSignal): Promise<void> {
  const { db, mails, connections, events, now } = context
  const slot = latestSlot(mails.schedule, now())
  const claim = slot && (await claimMail(db, { slot: slot.name, now: now() }))
  if (!claim) return
  if (signal.aborted) return await releaseMail(db, claim)
  if (!(await hasNewFaultsForHr(db, { connections, now: now() }))) {
    await closeMail(db, claim, { faults: [], values: false, now: now() })
    return
  }
  const { sent, unsent } = await trySend(context, claim, signal)
  if (sent === null) return await (signal.aborted ? releaseMail(db, claim) : postpone(context, claim, unsent))
  const { faults, departures, isAttached } = sent
  const values = isAttached || mails.valuesInBody
  const isOurs = await closeMail(db, claim, { faults, values, failure: unsent?.failure ?? null, now: now() })
  if (isOurs) events.handOverSent({ entries: faults.length, departures })
}

function linkOf(consoleUrl: URL | null): string | null {
  return consoleUrl === null ? null : new URL('/problems/hr', consoleUrl).href
}

type SentMail = {
  readonly faults: readonly HandOverFault[]
  readonly departures: number
  readonly isAttached: boolean
}
type MailOutcome =
  | { readonly sent: SentMail; readonly unsent: Unsent | null }
  | { readonly sent: null; readonly unsent: Unsent }

/** Makes the mail and sends it: without its attachment if that is too large for the server. */
async function trySend(context: MailingContext, claim: MailClaim, signal: AbortSignal): Promise<MailOutcome> {
  const { db, mails, connections, leaders, addNames, alerts, events, now } = context
  try {
    const { list, faults } = await readHandOver(db, { connections, leaders, now: now(), addNames })
    const channel = mailChannel(context)
    const common = { ...mails, link: linkOf(alerts.consoleUrl), messageId: messageIdOf(faults, claim, channel) }
    const send = async (attachment: HandOverMails['attachment']) => {
      const mail = await handOverMail(list, { ...common, attachment })
      return await sendMail(channel, mail, { name: mails.channel, timeoutMs, signal })
    }
    const unsent = await send(mails.attachment)
    const isAttached = mails.attachment !== 'none'
    const { departures } = list
    if (!unsent?.isTooLarge || !isAttached) return sendingOf({ faults, departures, isAttached }, unsent)
    events.handOverUnsent({ channel: mails.channel, attempt: claim.attempts, reason: unsent.failure })
    return sendingOf({ faults, departures, isAttached: false }, await send('none'))
  } catch (error) {
    // A secret or a package that is missing may be there at the next attempt.
    if (error instanceof Failure) return { sent: null, unsent: { failure: error.message } }
    events.unexpected({ during: 'mails to HR', error })
    return { sent: null, unsent: { failure: 'the list could not be made; the log has the reason' } }
  }
}

function sendingOf(sent: SentMail, unsent: Unsent | null): MailOutcome {
  return unsent === null || unsent.isPartlyDelivered ? { sent, unsent } : { sent: null, unsent }
}

/** The same for a repeated attempt: servers drop what they already have. Another list is another mail. */
function messageIdOf(faults: readonly HandOverFault[], { slot }: MailClaim, { from }: SmtpChannel): string {
  const hash = createHash('sha256').update(slot)
  for (const { connection, fingerprint, firstAt } of faults)
    hash.update(JSON.stringify([connection, fingerprint, firstAt.getTime()]))
  return `<${hash.digest('hex').slice(0, 32)}@${from.split('@').at(-1)}>`
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
