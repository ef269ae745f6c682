import { z } from 'zod'

/** An IANA time zone that this runtime knows, such as Europe/Berlin or UTC. Offsets such as +01:00 know no summer time and are refused. */
export const TimeZone = z
  .string()
  .refine(isTimeZone, { error: 'unknown time zone: write an IANA name such as Europe/Berlin or UTC' })

function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}
