import { type RawBuilder, sql } from 'kysely'

/** In SQL, whether a stored time has come, or is further ahead than it is ever set: then it was written before the clock was set back. */
export function hasCome(
  column: RawBuilder<unknown>,
  { now, maxMinutesAhead }: { readonly now: Date; readonly maxMinutesAhead: number },
): RawBuilder<boolean> {
  const latest = new Date(now.getTime() + maxMinutesAhead * 60_000)
  return sql<boolean>`(${column} <= ${now} or ${column} > ${latest})`
}

/** Upper bound for a failure after `since`: a later one was recorded before the clock was set back. */
export function clockBound(since: Date): Date {
  return new Date(since.getTime() + 2 * 60 * 60_000)
}
