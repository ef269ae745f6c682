import { Failure } from '../../errors.ts'
import { dateIn } from '../../identity/decide/decide.ts'
import type { SyncConnection } from '../context/context.ts'

/** The IANA time zone of a connection's source. */
export function zoneOf({ feeds }: Pick<SyncConnection, 'feeds'>): string {
  return (feeds.source ?? feeds.webhook)?.timeZone ?? 'UTC'
}

/** The day (`YYYY-MM-DD`) that it is in the time zone of a connection's source. */
export function todayOf(connection: Pick<SyncConnection, 'feeds'>, now: Date): string {
  return dateIn(zoneOf(connection), now.toISOString())
}

/** Reads a day that an operator wrote. */
export function readDay(text: string): Temporal.PlainDate {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) {
    try {
      return Temporal.PlainDate.from(text, { overflow: 'reject' })
    } catch {}
  }
  throw new Failure('usage', `"${text}" is not a day: write it as 2026-12-31`)
}
