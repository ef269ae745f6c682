import { Failure } from '../../errors.ts'

/** The day that an option names; refuses a day that does not exist, such as 2026-02-30. */
export function parseDay(option: string, text: string): Temporal.PlainDate {
  const day = strictDay(text)
  if (day === null) throw new Failure('usage', `${option} takes a day such as 2026-01-31, not "${text}"`)
  return day
}

/** The time that an option names, or the beginning of the day in UTC. */
export function parseInstant(option: string, text: string): string {
  const day = strictDay(text)
  if (day !== null) return `${day}T00:00:00.000Z`
  try {
    return new Date(Temporal.Instant.from(text).epochMilliseconds).toISOString()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Failure('usage', `${option} "${text}" is no time: write 2026-11-20 or 2026-11-20T18:00:00Z`)
  }
}

function strictDay(text: string): Temporal.PlainDate | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null
  try {
    return Temporal.PlainDate.from(text, { overflow: 'reject' })
  } catch (error) {
    if (error instanceof RangeError) return null
    throw error
  }
}
