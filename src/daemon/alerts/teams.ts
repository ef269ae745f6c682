import type { Answer } from './posted.ts'
import type { NoticeText } from './text.ts'

/** Teams refuses messages above 28 KB; the rest is for what the workflow adds. */
const maxBytes = 26_000

type Block = { readonly type: 'RichTextBlock'; readonly inlines: readonly object[] }

/** The message that a workflow posts as it is: an Adaptive Card. Rich text has no markup, so texts from outside cannot add any. */
export function teamsMessage({ subject, lines, link }: NoticeText): object {
  const title = blockOf(subject, { weight: 'bolder', size: 'medium' })
  const blocks = lines.filter((line) => line !== '').map((line) => blockOf(line, {}))
  for (let shown = blocks.length; shown > 0; shown--) {
    const isWhole = shown === blocks.length
    const body = [title, ...blocks.slice(0, shown), ...(isWhole ? [] : [blockOf('See: rollcall alerts', {})])]
    const message = messageOf(body, link)
    if (Buffer.byteLength(JSON.stringify(message)) <= maxBytes) return message
  }
  return messageOf([title], null)
}

function messageOf(body: readonly Block[], link: string | null): object {
  return {
    type: 'message',
    attachments: [
      {
        contentType: 'application/vnd.microsoft.card.adaptive',
        contentUrl: null,
        content: {
          $schema: 'http://adaptivecards.io/schemas/adaptive-card.json',
          type: 'AdaptiveCard',
          version: '1.4',
          body,
          ...(link !== null && { actions: [{ type: 'Action.OpenUrl', title: 'Open in Rollcall', url: link }] }),
          msteams: { width: 'Full' },
        },
      },
    ],
  }
}

function blockOf(text: string, style: { readonly weight?: 'bolder'; readonly size?: 'medium' }): Block {
  const opens = /^https?:\/\/\S+$/.test(text) && { selectAction: { type: 'Action.OpenUrl', url: text } }
  return { type: 'RichTextBlock', inlines: [{ type: 'TextRun', text, ...style, ...opens }] }
}

/** The status that an old connector of Teams puts into an answer of 200; null if there is none. */
export function relayedStatus(text: string): string | null {
  return /returned HTTP error (\d{3})/.exec(text)?.[1] ?? null
}

/** What a refusal of a workflow means. */
export function teamsMeaning({ status }: Answer): string | null {
  if (status === 400)
    return 'the workflow does not take it: it has to begin with "When a Teams webhook request is received" and to post the card'
  if (status === 401 || status === 403)
    return 'the workflow does not admit it: let anyone start it, and copy its address whole'
  if (status === 404 || status === 410) return 'there is no such workflow: it was deleted or turned off'
  if (status === 413) return 'the message is too large'
  if (status === 429) return 'too many messages'
  return null
}
