import { Cron as CronLine } from 'croner'
import { z } from 'zod'
import { TimeZone } from '../../identity/mapping/zones.ts'
import { type Blackout, freeFrom, weekdays } from '../schedules/blackouts.ts'

/** A day of each year, and the leap day, come in the years that follow. */
const anyTime = new Date('2026-01-01T00:00:00Z')

/** A cron line of five fields. */
export const Cron = z.string().superRefine((text, context) => {
  try {
    const line = new CronLine(text, { mode: '5-part', paused: true, timezone: 'UTC' })
    if (line.nextRun(anyTime) === null)
      context.addIssue({ code: 'custom', message: 'names a day that never comes, such as 30 February' })
  } catch {
    context.addIssue({
      code: 'custom',
      message: 'not a cron line of five fields, such as 0 2 * * * for every night at two',
    })
  }
})

/** The maximum delay of scheduled runs. */
export const JitterMinutes = z
  .int()
  .min(0)
  .max(240)
  .default(0)
  .describe('Maximum delay of each run, in minutes, so that connections with equal cron lines do not begin at once.')

const timeOfDay = /^([01]\d|2[0-3]):[0-5]\d$/
const dateAndTime = /^\d{4}-\d{2}-\d{2}T([01]\d|2[0-3]):[0-5]\d$/
const At = z.string().refine((text) => timeOfDay.test(text) || isDateAndTime(text), {
  error: 'expected a time such as 22:00, or a date with a time such as 2026-12-24T18:00',
  abort: true,
})

const BlackoutWindow = z
  .strictObject({
    from: At.describe('When it begins: 22:00 for every day, or 2026-12-24T18:00 for once.'),
    to: At.describe(
      'When it ends, written like from. A time of the day that is not after from is one of the next day.',
    ),
    timeZone: TimeZone.optional().describe('The time zone of from and to. Default: that of the schedule.'),
    days: z
      .array(z.enum(weekdays))
      .min(1)
      .optional()
      .describe('The days on which it begins: mon, tue, wed, thu, fri, sat, sun. Default: all of them.'),
  })
  .superRefine(({ from, to, days }, context) => {
    const issue = (path: string, message: string) => context.addIssue({ code: 'custom', path: [path], message })
    if (from.includes('T') !== to.includes('T'))
      issue('to', 'write it like from: both as times, or both with their dates')
    else if (from.includes('T') && to <= from) issue('to', 'does not lie after from')
    if (from.includes('T') && days) issue('days', 'goes with times of the day only')
  })

/** Windows in which no scheduled run begins. */
export const Blackouts = z
  .array(BlackoutWindow)
  .default([])
  .describe(
    'Windows in which no scheduled run begins; it begins at the end. Events, watched folders and requests of people are not delayed.',
  )

/** Whether scheduled runs can begin between the windows that come back each week. */
export function leavesTime(windows: readonly Blackout[]): boolean {
  const weekly = windows.filter(({ from }) => !from.includes('T'))
  return freeFrom(weekly, anyTime) !== null
}

function isDateAndTime(text: string): boolean {
  if (!dateAndTime.test(text)) return false
  try {
    Temporal.PlainDateTime.from(text, { overflow: 'reject' })
    return true
  } catch {
    return false
  }
}
