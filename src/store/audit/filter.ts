import type { Entry } from './trail.ts'

/** Which entries a reader wants; an omitted property does not filter. */
export type EntryFilter = {
  readonly from?: Date
  /** Entries before this instant. */
  readonly to?: Date
  /** The name of an act, or the part before its dot. */
  readonly act?: string
  readonly by?: string
  readonly connection?: string
  readonly runId?: string
}

/** Whether an entry is one of those. */
export function passesFilter(entry: Entry, { from, to, act, by, connection, runId }: EntryFilter): boolean {
  if (from && entry.at < from.toISOString()) return false
  if (to && entry.at >= to.toISOString()) return false
  if (act !== undefined && entry.act !== act && !entry.act.startsWith(`${act}.`)) return false
  if (by !== undefined && entry.by !== by) return false
  if (connection !== undefined && entry.connection !== connection) return false
  return runId === undefined || entry.runId === runId
}

/** The keys of the people that an entry is about. */
export function peopleOf({ act, identityId, details }: Entry): readonly string[] {
  const isAboutKeys = act === 'keys.answered' || act === 'keys.withdrawn'
  const ofKeys = isAboutKeys ? [details?.former, details?.keys, details?.key] : []
  const named = [details?.people, details?.refused, ...ofKeys].flat().filter((key) => typeof key === 'string')
  return identityId === undefined ? named : [identityId, ...named]
}
