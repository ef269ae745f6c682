import type { Reading } from '../../connectors/connector.ts'
import { readEvents } from '../../connectors/webhook/events.ts'
import { normaliseHeader } from '../../identity/mapping/headers.ts'
import { compileMapping } from '../../identity/mapping/mapping.ts'
import type { StoredEvent } from '../../identity/record.ts'
import type { WebhookFeed } from '../context/context.ts'

/**
 * Reads events as one delta. Paths that differ only by case or signs are one column, so that a field may have two of them: in one
 * event, which then cannot be used, or in events that are read together. Of those the first are read, and the others are left to the
 * next run, if the run may leave any, so that no event stops another.
 */
export function readReadable(
  events: readonly StoredEvent[],
  { settings, mapping, timeZone }: WebhookFeed,
  { now, mayLeave }: { readonly now: Date; readonly mayLeave: boolean },
): { readonly reading: Reading; readonly left: readonly string[] } {
  const missingOf = (headers: readonly string[]): readonly string[] => {
    const compiled = compileMapping(mapping, headers, { sparse: true, timeZone })
    return compiled.ok ? [] : compiled.missing
  }
  const reading = readEvents(events, settings, { now, mayDefer: mayLeave })
  if (missingOf(reading.headers).length === 0) return { reading, left: reading.deferred }

  const firstSpellings = new Map<string, string>()
  const unusable = new Map<string, string>()
  const left = new Set<string>()
  for (const event of events) {
    const own = readEvents([event], settings, { now }).headers
    const missing = missingOf(own)
    // Only paths that differ by case or signs can be ambiguous. One other spelling shows it: events with a second spelling of a mapped path are not read.
    const twins = own.flatMap((header) => firstSpellings.get(normaliseHeader(header)) ?? [])
    const together = twins.some((twin) => !own.includes(twin)) ? missingOf([...new Set([...twins, ...own])]) : missing
    const why = mayLeave ? missing : together
    if (why.length > 0) unusable.set(event.id, why.join('; '))
    else if (together.length > 0) left.add(event.id)
    else for (const header of own) firstSpellings.getOrInsert(normaliseHeader(header), header)
  }
  const read = events.filter(({ id }) => !left.has(id))
  const readable = readEvents(read, settings, { now, unusable, mayDefer: mayLeave })
  return { reading: readable, left: [...left, ...readable.deferred] }
}
