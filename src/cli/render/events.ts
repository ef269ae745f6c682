import type { InboxEvent } from '../../contract/control/shapes.ts'
import { escapeText, formatInstant, type Paint, shortId, tableLines } from './text.ts'

/** Events as a table, one line each. */
export function renderEvents(events: readonly InboxEvent[], paint: Paint): string {
  if (events.length === 0) return 'No events.'
  const rows = events.map((event) => [
    event.id,
    event.connection,
    formatInstant(event.receivedAt),
    event.state,
    event.runId === null ? '-' : shortId(event.runId),
    escapeText([event.eventId ?? '', event.reason ?? ''].filter((text) => text !== '').join(': ')),
  ])
  const head = ['EVENT', 'CONNECTION', 'RECEIVED', 'STATE', 'RUN', "SENDER'S ID, REASON"]
  return tableLines(head, rows, paint).join('\n')
}
