const written = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/

/** Whether a text names an IANA time zone that this runtime knows, such as Europe/Berlin or UTC. Offsets know no summer time and are none. */
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
