import type { ChatOrIncidentChannel, Message } from '../config/channel.ts'
import type { AlertLink } from './links.ts'
import { closeRequest, createRequest, opsgenieMeaning, updateRequests } from './opsgenie.ts'
import { pagerDutyMeaning, resolveEvent, triggerEvent } from './pagerduty.ts'
import type { Answer, Content, PostedRequest } from './posted.ts'
import { slackErrorIn, slackMessage } from './slack.ts'
import { relayedStatus, teamsMeaning, teamsMessage } from './teams.ts'
import { type NoticeText, noticeText } from './text.ts'

type Requests = (content: Content) => readonly PostedRequest[]

type Template = {
  readonly headers: (key: string) => Readonly<Record<string, string>>
  /** The requests of each message, sent one after the other. Null: the receiver never gets such a message. */
  readonly raised: Requests
  readonly reminded: Requests
  readonly resolved: Requests
  /** Of an alert that was over before it could be sent. */
  readonly over: Requests
  readonly group: Requests | null
  readonly test: Requests
  /** Why an answer with a status of 200 to 299 does not mean that the message was taken; null: it was. */
  readonly refusal: (answer: Answer) => string | null
  /** What another answer means, to append to its status; null: nothing more is known. */
  readonly meaning: (answer: Answer) => string | null
  /** A header with the seconds to wait, besides Retry-After. */
  readonly waitHeader: string | null
  /** The wait after a 429 without such a header. Null: the usual pauses. */
  readonly waitMs: number | null
}

/** The requests with which each type of receiver is notified about alerts. */
export const templates: Readonly<Record<ChatOrIncidentChannel['type'], Template>> = {
  slack: {
    headers: () => ({}),
    ...forPeople(slackMessage),
    refusal: ({ text }) => {
      const name = slackErrorIn(text)
      return name === null ? null : `refuses the message (${name})`
    },
    meaning: ({ text }) => slackErrorIn(text),
    waitHeader: null,
    waitMs: null,
  },
  teams: {
    headers: () => ({}),
    ...forPeople(teamsMessage),
    refusal: ({ text }) => {
      const status = relayedStatus(text)
      return status === null ? null : `passes on that Teams answers ${status}`
    },
    meaning: teamsMeaning,
    waitHeader: null,
    waitMs: null,
  },
  pagerduty: {
    headers: () => ({}),
    raised: (content) => [triggerEvent(content)],
    // Whoever acknowledged the incident is not called again. PagerDuty shows the newest event of an alert.
    reminded: (content) => [triggerEvent(content)],
    resolved: (content) => [resolveEvent(content)],
    // Nobody is called for it. An attempt without an answer may have opened an incident all the same.
    over: (content) => [resolveEvent(content)],
    group: null,
    test: (content) => [triggerEvent(content), resolveEvent(content)],
    refusal: ({ text }) => unlessNamed(text, { property: 'dedup_key', name: 'PagerDuty' }),
    meaning: pagerDutyMeaning,
    waitHeader: null,
    // Its limit counts events per minute.
    waitMs: 60_000,
  },
  opsgenie: {
    headers: (key) => ({ authorization: `GenieKey ${key}` }),
    raised: (content) => [createRequest(content)],
    // Counts up the open alert, or opens one again that somebody closed. The cause may be another one by then.
    reminded: (content) => [createRequest(content), ...updateRequests(content)],
    resolved: (content) => [closeRequest(content)],
    over: (content) => [closeRequest(content)],
    group: null,
    test: (content) => [createRequest(content), closeRequest(content)],
    refusal: ({ text }) => unlessNamed(text, { property: 'requestId', name: 'Opsgenie' }),
    meaning: opsgenieMeaning,
    waitHeader: 'x-ratelimit-period-in-sec',
    waitMs: 60_000,
  },
}

/** The requests that tell a receiver about a notice. None: the receiver gets no such message. */
export function requestsFor(
  type: ChatOrIncidentChannel['type'],
  notice: Message,
  { key, linkOf }: { readonly key: string; readonly linkOf: AlertLink },
): readonly PostedRequest[] {
  const content = { ...noticeText(notice, linkOf), notice, alert: 'alert' in notice ? notice.alert : null, key }
  const template = templates[type]
  switch (notice.type) {
    case 'raised':
      if (notice.alert.clearedAt !== null) return template.over(content)
      return notice.sentBefore > 0 ? template.reminded(content) : template.raised(content)
    case 'cleared':
      return template.resolved(content)
    case 'group':
      return template.group?.(content) ?? []
    case 'test':
      return template.test(content)
    default:
      return notice satisfies never
  }
}

/** A chat gets the text of each notice as one message to the address itself. */
function forPeople(
  body: (text: NoticeText) => object,
): Pick<Template, 'raised' | 'reminded' | 'resolved' | 'over' | 'test'> & { readonly group: Requests } {
  const message: Requests = (content) => [{ path: '', body: body(content) }]
  return { raised: message, reminded: message, resolved: message, over: message, group: message, test: message }
}

/** A proxy or another server may answer 200 to everything: an answer counts if it has a property that only the receiver states. */
function unlessNamed(
  text: string,
  { property, name }: { readonly property: string; readonly name: string },
): string | null {
  return text.includes(`"${property}"`) ? null : `does not answer as ${name} does: check url`
}
