import { pluralize } from '../../identity/pluralize.ts'
import { tryMailServer } from '../alerts/smtp.ts'
import type { AlertSettings } from '../config/channel.ts'
import type { HandOverMails } from '../config/hand-over-settings.ts'
import { mailChannel } from './mailing.ts'

const timeoutMs = 10_000

type CheckedMails = {
  readonly mails: Pick<HandOverMails, 'channel' | 'to'>
  readonly alerts: Pick<AlertSettings, 'channels'>
}

/** Reaches the mail server for mails to HR or for the weekly summary, and signs in there, without sending anything, and describes the result. Throws `alert_unsent`. */
export async function checkMails({ mails, alerts }: CheckedMails): Promise<string> {
  const channel = mailChannel({ mails, alerts })
  await tryMailServer(channel, { name: mails.channel, timeoutMs })
  return `${channel.host}:${channel.port} answers, ${pluralize(mails.to.length, 'address', 'addresses')} (nothing was sent)`
}
