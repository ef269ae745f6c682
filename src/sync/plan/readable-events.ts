import type { Reading } from '../../connectors/connector.ts'
import { readEvents } from '../../connectors/webhook/events.ts'
import { normaliseHeader } from '../../identity/mapping/headers.ts'
import { compileMapping } from '../../identity/mapping/mapping.ts'
import type { StoredEvent } from '../../identity/record.ts'
import type { WebhookFeed } from '../context/context.ts'

/**
 * Reads events as one delta. Paths that differ only by case or signs are one column, so a field may have two spellings: in one event, which
 * is then unusable, or in events that are read together. Of those the first are read, and the others are deferred to the next run if the run
 * may defer any, so that no event blocks another.
 */
export function readReadable(
  events: readonly StoredEvent[],
  { settings, mapping, timeZone }: WebhookFeed,
  { now, mayDefer }: { readonly now: Date; readonly mayDefer: boolean },
): { readonly reading: Reading; readonly deferred: readonly string[] } {
  const missingOf = (headers: readonly string[]): readonly string[] => {
    const compiled = compileMapping(mapping, headers, { sparse: true, timeZone })
    return compiled.ok ? [] : compiled.missing
  }
  const reading = readEvents(events, settings, { now, mayDefer })
  if (missingOf(reading.headers).length === 0) return { reading, deferred: reading.deferred }

  const firstSpellings = new Map<string, string>()
  const unusable = new Map<string, string>()
  const deferred = new Set<string>()
  for (const event of events) {
    const own = readEvents([event], settings, { now }).headers
    const missing = missingOf(own)
    // Only paths that differ by case or signs can be ambiguous. One other spelling shows it: events with a second spelling of a mapped path are not read.
    const twins = own.flatMap((header) => firstSpellings.get(normaliseHeader(header)) ?? [])
    const together = twins.some((twin) => !own.includes(twin)) ? missingOf([...new Set([...twins, ...own])]) : missing
    const why = mayDefer ? missing : together
    if (why.length > 0) unusable.set(event.id, why.join('; '))
    else if (together.length > 0) deferred.add(event.id)
    else for (const header of own) firstSpellings.getOrInsert(normaliseHeader(header), header)
  }
  const read = events.filter(({ id }) => !deferred.has(id))
  const readable = readEvents(read, settings, { now, unusable, mayDefer })
  return { reading: readable, deferred: [...deferred, ...readable.deferred] }
}
