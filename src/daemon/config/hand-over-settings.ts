import { z } from 'zod'
import { handOverFormats } from '../../contract/control/hand-over.ts'
import { TimeZone } from '../../identity/mapping/zones.ts'
import type { Schedule } from '../schedules/schedules.ts'
import { type AlertsFile, MailAddress } from './alert-settings.ts'
import type { ConfigDocument, Problem } from './document.ts'
import { problemAt } from './problems.ts'
import { Cron } from './schedule-settings.ts'

/** The scheduled mails to HR, as the file has them. */
export const HandOverSettings = z
  .strictObject({
    channel: z.string().describe('The mail channel below alerts.channels whose server and sender the mails use.'),
    to: z.array(MailAddress).min(1).max(20).describe("The addresses of HR. The channel's own recipients get nothing."),
    cron: Cron.default('0 7 * * 1-5').describe(
      'When a mail may be sent. None is sent if nothing is new since the last one.',
    ),
    timeZone: TimeZone.default('UTC').describe('The time zone of cron.'),
    connections: z
      .array(z.string())
      .min(1)
      .optional()
      .describe('The connections that the mails are about. Default: all.'),
    attachment: z
      .enum([...handOverFormats, 'none'])
      .default('xlsx')
      .describe('The list as an attachment, with names and cells. none: the mails have only the counts.'),
    valuesInBody: z
      .boolean()
      .default(false)
      .describe('Whether the text of the mails also quotes cells. Names are only in the attachment.'),
  })
  .describe('Scheduled mails to HR with what it has to correct. Without this, none is sent.')

type HandOverFile = z.infer<typeof HandOverSettings>

/** The mails to HR about what it has to correct. */
export type HandOverMails = Pick<HandOverFile, 'channel' | 'to' | 'attachment' | 'valuesInBody'> & {
  readonly schedule: Schedule
  /** Null: all. */
  readonly connections: readonly string[] | null
}

/** The settings of the mails, with their schedule. */
export function toHandOver({ cron, timeZone, connections, ...mails }: HandOverFile): HandOverMails {
  return { ...mails, schedule: { cron, timeZone }, connections: connections ?? null }
}

type NamedChannel = Pick<AlertsFile, 'channels'> & { readonly name: string; readonly document: ConfigDocument }

/** The problem of a setting that names a channel which is not there, or is not one for mails. */
export function noMailChannel(setting: 'handOver' | 'weekly', { name, channels, document }: NamedChannel): Problem {
  const names = Object.entries(channels).flatMap(([one, { type }]) => (type === 'smtp' ? [one] : []))
  const known = names.length === 0 ? 'add one with type: smtp' : `there is ${names.join(', ')}`
  return problemAt(document, [setting, 'channel'], `there is no mail channel "${name}" below alerts.channels; ${known}`)
}

const thisMachine = /^(?:localhost|127\..*|\[?::1\]?)$/

/** The problems of the channel that the mails use. */
export function handOverProblems(
  { channel: name, attachment, valuesInBody }: HandOverFile,
  { channels }: AlertsFile,
  document: ConfigDocument,
): Problem[] {
  const channel = channels[name]
  if (channel?.type !== 'smtp') return [noMailChannel('handOver', { name, channels, document })]
  const hasValues = attachment !== 'none' || valuesInBody
  if (channel.tls !== 'none' || !hasValues || thisMachine.test(channel.host)) return []
  const message = `the channel "${name}" sends without TLS, and the mails hold names and cells: use TLS, or attachment: none and valuesInBody: false`
  return [problemAt(document, ['handOver', 'channel'], message)]
}
