/** Where times are read in UTC: in logs, alerts and files that go to several readers. */
export const utc = 'UTC'

let readersZone = utc

/** Whether this is the name of a time zone, such as `Europe/Berlin`. */
export function isTimeZone(name: string): boolean {
  try {
    Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name)
    return true
  } catch {
    return false
  }
}

/** The zone of this machine; UTC if it has none that can be used. */
export function machineTimeZone(): string {
  const name = Temporal.Now.timeZoneId()
  return isTimeZone(name) ? name : utc
}

/** Sets the zone in which this process writes times for the one person who runs it. */
export function useTimeZone(name: string): void {
  readersZone = name
}

/** `2026-11-20 01:00 UTC`, or `2026-11-20 02:00 +01:00` in another zone: by default in that of the reader. */
export function formatTime(at: Date | string, zone = readersZone): string {
  const { day, clock, offset } = inZone(at, zone)
  return `${day} ${clock.slice(0, 'hh:mm'.length)} ${offset}`
}

/** The day of an instant: by default in the zone of the reader. */
export function formatDate(at: Date | string, zone = readersZone): string {
  return inZone(at, zone).day
}

/** The same as `formatTime` with seconds and without the day. */
export function formatClock(at: Date | string, zone = readersZone): string {
  const { clock, offset } = inZone(at, zone)
  return `${clock} ${offset}`
}

function inZone(at: Date | string, zone: string) {
  const text = typeof at === 'string' ? at : at.toISOString()
  // Other times than these come in texts of older versions, and UTC is the zone of most machines.
  if (zone === utc && text.endsWith('Z')) return { day: text.slice(0, 10), clock: text.slice(11, 19), offset: utc }
  const zoned = Temporal.Instant.from(text).toZonedDateTimeISO(zone)
  const time = zoned.toPlainTime().toString({ smallestUnit: 'second' })
  return { day: zoned.toPlainDate().toString(), clock: time, offset: zone === utc ? utc : zoned.offset }
}
