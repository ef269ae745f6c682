import { Cron, CronPattern } from 'croner'

/** A cron line of five parts and the zone of its times. */
type CronLine = { readonly cron: string; readonly timeZone: string }

// Lists of hours are fixed times too: where the clock skips or repeats an hour, such a slot runs once.
const rules = { mode: '5-part', fixedTimeRule: 'no-wildcard' } as const
const minuteMs = 60_000
const maxCached = 10_000

/**
 * Results by line and minute. A thousand connections share a few lines, each evaluation takes about 0.3 ms, and every check of the alerts
 * and every call of `status` needs several for each connection.
 */
const times = new Map<string, Date | null>()
const names = new Map<string, string>()

/** The last time of a line before this one; null if there is none. */
export function timeBefore(line: CronLine, before: Date): Date | null {
  // Lines have whole minutes, so all references up to a whole minute have the same result.
  const reference = new Date(Math.ceil(before.getTime() / minuteMs) * minuteMs)
  const key = keyOf(line, `before ${reference.getTime()}`)
  return recall(times, key, () => cronOf(line).previousRuns(1, reference)[0] ?? null)
}

/** The first time of a line after this one; null if there is none. */
export function timeAfter(line: CronLine, after: Date): Date | null {
  const reference = new Date(Math.floor(after.getTime() / minuteMs) * minuteMs)
  return recall(times, keyOf(line, `after ${reference.getTime()}`), () => cronOf(line).nextRun(reference))
}

/** The name of a time of a line: the local date and time, with the offset if the line runs in both instances of a repeated hour. */
export function timeName(line: CronLine, at: Date): string {
  return recall(names, keyOf(line, `${at.getTime()}`), () => {
    const local = Temporal.Instant.fromEpochMilliseconds(at.getTime()).toZonedDateTimeISO(line.timeZone)
    const name = local.toPlainDateTime().toString({ smallestUnit: 'minute' })
    const isFixed = new CronPattern(line.cron, line.timeZone, rules).isFixedTime
    return isFixed ? name : `${name}${local.offset}`
  })
}

/** The line for croner. */
export function cronOf({ cron, timeZone }: CronLine): Cron {
  return new Cron(cron, { ...rules, timezone: timeZone, paused: true })
}

function keyOf({ cron, timeZone }: CronLine, time: string): string {
  return `${cron}\n${timeZone}\n${time}`
}

/** The result for this key, or that of `make`, which replaces the oldest one in a full map. */
function recall<T extends Date | string | null>(results: Map<string, T>, key: string, make: () => T): T {
  const known = results.get(key)
  if (known !== undefined) return known
  const result = make()
  const [oldest] = results.keys()
  if (oldest !== undefined && results.size >= maxCached) results.delete(oldest)
  results.set(key, result)
  return result
}
