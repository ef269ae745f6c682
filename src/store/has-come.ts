import { type RawBuilder, sql } from 'kysely'

/**
 * True in SQL if a stored time has come, or lies further ahead than anybody ever sets it: then it was written while the clock was ahead,
 * and the clock has been set back since.
 */
export function hasCome(
  column: RawBuilder<unknown>,
  { now, maxMinutesAhead }: { readonly now: Date; readonly maxMinutesAhead: number },
): RawBuilder<boolean> {
  const latest = new Date(now.getTime() + maxMinutesAhead * 60_000)
  return sql<boolean>`(${column} <= ${now} or ${column} > ${latest})`
}

/** A failure that is to be waited out an hour from `since` was noted while the clock was ahead, if it is later than this. */
export function clockBound(since: Date): Date {
  return new Date(since.getTime() + 2 * 60 * 60_000)
}
