import { alertKinds } from './kinds.ts'
import type { Answer, Content, PostedRequest } from './posted.ts'
import { shorten } from './text.ts'

const path = '/v2/enqueue'
/** Maximum number of characters that PagerDuty takes in a summary. */
const maxSummary = 1024

/** An event that opens an incident, or adds to the open one of the same alert. */
export function triggerEvent({ notice, alert, subject, lines, link, key }: Content): PostedRequest {
  const urgency = alert && alertKinds[alert.kind].urgency
  return {
    path,
    body: {
      routing_key: key,
      event_action: 'trigger',
      dedup_key: alert?.id ?? notice.id,
      client: 'Rollcall',
      ...(link !== null && { client_url: link, links: [{ href: link, text: 'Open in Rollcall' }] }),
      payload: {
        summary: shorten(alert === null ? subject : `${subject}: ${lines[1]}`, maxSummary),
        source: alert?.connection ?? 'rollcall',
        severity: urgency === null ? 'info' : urgency === 'page' ? 'critical' : 'warning',
        timestamp: notice.now.toISOString(),
        class: alert?.kind ?? 'test',
        custom_details: {
          text: lines.join('\n'),
          ...(alert !== null && { since: alert.since.toISOString(), people: alert.people, leavers: alert.leavers }),
        },
      },
    },
  }
}

/** An event that closes the incident of an alert. */
export function resolveEvent({ notice, alert, key }: Content): PostedRequest {
  return { path, body: { routing_key: key, event_action: 'resolve', dedup_key: alert?.id ?? notice.id } }
}

/** What a refusal of PagerDuty means. Its explanation names the field, and nothing else of it is shown. */
export function pagerDutyMeaning({ status, text }: Answer): string | null {
  if (status === 400 && text.includes('routing_key'))
    return 'routingKey is not the key of an integration "Events API v2"'
  if (status === 400) return 'the event is not valid'
  if (status === 401 || status === 403) return 'it does not accept routingKey: check the key and region'
  if (status === 404) return 'no events are taken there: check url'
  if (status === 413) return 'the event is too large'
  if (status === 429) return 'too many events in this minute'
  return null
}
