import { alertKinds } from './kinds.ts'
import type { Answer, Content, PostedRequest } from './posted.ts'
import { shorten } from './text.ts'

const path = '/v2/alerts'
/** Maximum number of characters that Opsgenie takes in each field. */
const maxMessage = 130
const maxDescription = 15_000
const maxEntity = 512
const maxNote = 25_000

/** A request that creates an alert, or counts up the open one with the same alias. */
export function createRequest(content: Content): PostedRequest {
  const { notice, alert } = content
  const urgency = alert && alertKinds[alert.kind].urgency
  return {
    path,
    body: {
      alias: alert?.id ?? notice.id,
      ...textsIn(content),
      source: 'Rollcall',
      entity: shorten(alert?.connection ?? 'rollcall', maxEntity),
      priority: urgency === null ? 'P5' : urgency === 'page' ? 'P2' : 'P3',
      tags: ['rollcall', alert?.kind ?? 'test'],
      ...(alert !== null && { details: detailsOf(alert) }),
    },
  }
}

/** Requests that give the open alert with the same alias the present texts and counts. Creating it again only counts it up. */
export function updateRequests(content: Content): PostedRequest[] {
  const { alert, notice } = content
  const { message, description } = textsIn(content)
  const update = (part: string, body: object, method?: 'PUT'): PostedRequest => ({
    path: alertPath({ alert, notice }, part),
    body,
    ...(method && { method }),
    acceptsMissing: true,
  })
  return [
    update('message', { message }, 'PUT'),
    update('description', { description }, 'PUT'),
    ...(alert === null ? [] : [update('details', { details: detailsOf(alert) })]),
  ]
}

function textsIn({ subject, lines, link }: Content) {
  return {
    message: shorten(subject, maxMessage),
    description: shorten([...lines, ...(link === null ? [] : [link])].join('\n'), maxDescription),
  }
}

function detailsOf({ connection, since, people, leavers }: NonNullable<Content['alert']>) {
  return { connection, since: since.toISOString(), people: String(people ?? 0), leavers: String(leavers ?? 0) }
}

function alertPath({ alert, notice }: Pick<Content, 'alert' | 'notice'>, part: string): string {
  return `${path}/${encodeURIComponent(alert?.id ?? notice.id)}/${part}?identifierType=alias`
}

/** A request that closes an alert by its alias. */
export function closeRequest({ notice, alert, lines }: Content): PostedRequest {
  return {
    path: alertPath({ alert, notice }, 'close'),
    body: { source: 'Rollcall', note: shorten(lines[0] ?? '', maxNote) },
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
