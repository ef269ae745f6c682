import { z } from 'zod'
import { TimeZone } from '../../identity/mapping/zones.ts'
import type { Schedule } from '../schedules/schedules.ts'
import { type AlertsFile, MailAddress } from './alert-settings.ts'
import type { ConfigDocument, Problem } from './document.ts'
import { noMailChannel } from './hand-over-settings.ts'

const days = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'] as const

/** The weekly summary, as the file has it. */
export const WeeklySettings = z
  .strictObject({
    channel: z.string().describe('The mail channel below alerts.channels whose server and sender the mail uses.'),
    to: z.array(MailAddress).min(1).max(20).describe("The addresses. The channel's own recipients get nothing."),
    day: z.enum(days).default('monday').describe('The day on which the mail is sent.'),
    hour: z.int().min(0).max(23).default(7).describe('The hour of that day.'),
    timeZone: TimeZone.default('UTC').describe('The time zone of day and hour, and of the times in the mail.'),
    connections: z.array(z.string()).min(1).optional().describe('The connections that it is about. Default: all.'),
  })
  .describe(
    'A mail about the last week of each connection, with counts and no value of a person. Without this, none is sent.',
  )

type WeeklyFile = z.infer<typeof WeeklySettings>

/** The weekly summary. */
export type WeeklyMails = Pick<WeeklyFile, 'channel' | 'to'> & {
  readonly schedule: Schedule
  /** Null: all. */
  readonly connections: readonly string[] | null
}

/** The settings of the summary, with its schedule. */
export function toWeekly({ channel, to, day, hour, timeZone, connections }: WeeklyFile): WeeklyMails {
  const schedule = { cron: `0 ${hour} * * ${days.indexOf(day)}`, timeZone }
  return { channel, to, schedule, connections: connections ?? null }
}

/** The problems of the channel that the summary uses. */
export function weeklyProblems(
  { channel: name }: WeeklyFile,
  { channels }: AlertsFile,
  document: ConfigDocument,
): Problem[] {
  return channels[name]?.type === 'smtp' ? [] : [noMailChannel('weekly', { name, channels, document })]
}
