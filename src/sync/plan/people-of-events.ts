import type { StoredEvent } from '../../identity/record.ts'
import type { PersonOfEvent } from '../../store/inbox/inbox.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { loadPlanInputs } from './plan-inputs.ts'
import { readReadable } from './readable-events.ts'

/** Reads whom events name. An event is left out if nobody in it can be read. */
export async function peopleOfEvents(
  ctx: Pick<SyncContext, 'store' | 'now' | 'indexing'>,
  connection: SyncConnection,
  events: readonly StoredEvent[],
): Promise<PersonOfEvent[]> {
  const rules = connection.feeds.webhook
  if (rules === undefined || events.length === 0) return []
  const { reading } = readReadable(events, rules, { now: ctx.now(), mayDefer: false })
  const { mapping, reading: read } = await loadPlanInputs(ctx, connection, { name: 'webhook', rules, reading })
  if (!mapping.ok) return []
  const people: PersonOfEvent[] = []
  for await (const rows of read.rows)
    for (const row of rows) {
      const mapped = mapping.map(row)
      if (mapped === null || mapped.identityId === null || !('event' in row.origin)) continue
      people.push({ event: row.origin.event, key: mapped.identityId })
    }
  return people
}
