import { z } from 'zod'

const written = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/

/** The name of an IANA time zone that this runtime knows, such as Europe/Berlin or UTC. Refuses offsets such as +01:00, which have no summer time. */
export const TimeZone = z
  .string()
  .refine(isTimeZone, { error: 'unknown time zone: write an IANA name such as Europe/Berlin or UTC' })

/** Whether this runtime knows an IANA time zone of this name. */
export function isTimeZone(name: string): boolean {
  if (!written.test(name)) return false
  try {
    Temporal.PlainDate.from('2000-01-01').toZonedDateTime(name)
    return true
  } catch (error) {
    if (error instanceof RangeError) return false
    throw error
  }
}
