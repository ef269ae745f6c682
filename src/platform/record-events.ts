import type { NewEvent, Target, TargetKind } from './events.ts'

type Written = {
  readonly connectionId: number
  /** What holds the records, where it is not the connection itself. */
  readonly target?: Target
  /** The kind of record, for programs and for people. */
  readonly kind: TargetKind
  readonly noun: string
  /** The keys of what was written, or the first of them. */
  readonly keys: readonly string[]
  readonly count?: number
}

/** The event for what one request did to records of a connection; none where it did nothing. */
export function recordEventsOf(what: 'CREATED' | 'UPDATED' | 'REMOVED', written: Written): NewEvent[] {
  const { connectionId, kind, noun, keys, count = keys.length } = written
  if (count === 0) return []
  const { target = { kind: 'customConnection', id: connectionId } } = written
  const described = count === 1 ? `1 ${noun}` : `${count} ${noun}s`
  const description = `${described} of custom connection ${connectionId} ${count === 1 ? 'was' : 'were'} ${what.toLowerCase()}`
  return [{ type: `CUSTOM_RESOURCE_RECORD_${what}`, description, target, targets: { kind, ids: keys }, connectionId }]
}
