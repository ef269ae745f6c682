import { type RawBuilder, sql } from 'kysely'

/** In SQL, whether a stored time has come. A time more than `maxMinutesAhead` ahead was stored before the clock was set back, and counts as come. */
export function hasCome(
  column: RawBuilder<unknown>,
  { now, maxMinutesAhead }: { readonly now: Date; readonly maxMinutesAhead: number },
): RawBuilder<boolean> {
  const latest = new Date(now.getTime() + maxMinutesAhead * 60_000)
  return sql<boolean>`(${column} <= ${now} or ${column} > ${latest})`
}

/**
 * The latest time that an event after `since` can have, if `since` is at most an hour ago. A later time was recorded before the clock was
 * set back.
 */
export function clockBound(since: Date): Date {
  return new Date(since.getTime() + 2 * 60 * 60_000)
}
