import { alertKinds } from './kinds.ts'
import type { Answer, Content, PostedRequest } from './posted.ts'
import { shortened } from './text.ts'

const path = '/v2/alerts'
/** Maximum number of characters that Opsgenie takes in each field. */
const maxMessage = 130
const maxDescription = 15_000
const maxEntity = 512
const maxNote = 25_000

/** A request that creates an alert, or counts up the open one with the same alias. */
export function createRequest({ notice, alert, subject, lines, link, key: _ }: Content): PostedRequest {
  const urgency = alert && alertKinds[alert.kind].urgency
  return {
    path,
    body: {
      message: shortened(subject, maxMessage),
      alias: alert?.id ?? notice.id,
      description: shortened([...lines, ...(link === null ? [] : [link])].join('\n'), maxDescription),
      source: 'Rollcall',
      entity: shortened(alert?.connection ?? 'rollcall', maxEntity),
      priority: urgency === null ? 'P5' : urgency === 'page' ? 'P2' : 'P3',
      tags: ['rollcall', alert?.kind ?? 'test'],
      ...(alert !== null && {
        details: {
          connection: alert.connection,
          since: alert.since.toISOString(),
          people: String(alert.people ?? 0),
          leavers: String(alert.leavers ?? 0),
        },
      }),
    },
  }
}

/** A request that closes an alert by its alias. */
export function closeRequest({ notice, alert, lines }: Content): PostedRequest {
  return {
    path: `${path}/${encodeURIComponent(alert?.id ?? notice.id)}/close?identifierType=alias`,
    body: { source: 'Rollcall', note: shortened(lines[0] ?? '', maxNote) },
    acceptsMissing: true,
  }
}

const fields = ['message', 'alias', 'description', 'source', 'entity', 'priority', 'tags', 'details', 'note']

/** What a refusal of Opsgenie means. Its explanation names fields, and nothing else of it is shown. */
export function opsgenieMeaning({ status, text }: Answer): string | null {
  if (status === 401 || status === 403)
    return 'it does not accept apiKey: it takes the key of an API integration that may create alerts; check the key and region'
  if (status === 402) return 'the plan of the account does not allow it'
  if (status === 404) return 'no alerts are taken there: check url'
  if (status === 400 || status === 422) {
    const named = fields.filter((field) => text.includes(`"${field}"`) && field !== 'message')
    return named.length === 0 ? 'the request is not valid' : `it does not accept ${named.join(', ')}`
  }
  if (status === 429) return 'too many requests in this minute'
  return null
}
