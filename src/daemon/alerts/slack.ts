import type { NoticeText } from './text.ts'

/** How Slack and its like name an error, such as invalid_token. Other text of an answer is never shown. */
const errorName = /^[a-z][a-z0-9_]{1,59}$/

/** The document that is posted. `text` is what notifications show; blocks are the message itself. */
export function slackMessage({ subject, lines, link }: NoticeText): object {
  return {
    text: escapeSlack([subject, ...lines].join('\n')),
    mrkdwn: false,
    link_names: false,
    unfurl_links: false,
    unfurl_media: false,
    blocks: blocksOf({ subject, lines, link }),
  }
}

// Blocks use `plain_text`, which has no markup, except for the link, which comes from the configuration.
function blocksOf({ subject, lines, link }: NoticeText): object[] {
  const text = [subject, ...lines].join('\n')
  return [
    { type: 'section', text: { type: 'plain_text', text: withoutMentions(text), emoji: false } },
    ...(link === null
      ? []
      : [{ type: 'section', text: { type: 'mrkdwn', text: `<${escapeSlack(link.replaceAll('|', '%7C'))}>` } }]),
  ]
}

function escapeSlack(text: string): string {
  return withoutMentions(text).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

/** A zero-width character after each @ prevents mentions: some chats treat @all as one anywhere. */
function withoutMentions(text: string): string {
  return text.replaceAll('@', '@\u2060')
}

/** The name of the error in an answer: the whole text, or `error` of a document that says that it is not ok. */
export function slackErrorIn(text: string): string | null {
  const bare = text.trim()
  if (bare === 'ok') return null
  const name = errorName.test(bare) ? bare : errorOfDocument(bare)
  return name !== null && errorName.test(name) ? name : null
}

function errorOfDocument(text: string): string | null {
  try {
    const document: unknown = JSON.parse(text)
    if (typeof document !== 'object' || document === null || !('ok' in document) || document.ok !== false) return null
    return 'error' in document && typeof document.error === 'string' ? document.error : 'not_ok'
  } catch {
    return null
  }
}
