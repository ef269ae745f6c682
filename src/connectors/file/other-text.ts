import { quoted } from '../../identity/lint/quoted.ts'
import { joinChunks } from './chunks.ts'
import { unreadable } from './failures.ts'

const headBytes = 1024
// The tags at the beginning of a page, up to the first text.
const leadingTags = /^(?:\s*<[^<>]*>)*/
const htmlTags = 'html|head|body|title|meta|link|style|script|table|div|form|center|font'

const jsonStart = /^(?:\{\s*"|\{\s*\}|\[\s*[[{"\]])/

const exportAs = (format: string) => `have it exported as ${format}`

/** Texts that are no table: their beginning, and advice. */
const otherTexts = [
  {
    pattern: new RegExp(`^(?:<\\?xml[^>]*>\\s*)?<(?:!doctype\\s+html|!--|(?:${htmlTags})[\\s>])`, 'i'),
    problem: (head: string) => `is a web page (HTML) that begins with ${quoted(leadingTags.exec(head)?.[0] ?? '')}`,
    help: () => 'it may be a sign-in page that was saved in place of the export; check how the export is fetched',
  },
  { pattern: /^<\?xml/i, problem: () => 'is XML', help: exportAs },
  {
    pattern: jsonStart,
    problem: () => 'is JSON',
    help: () => 'write format: json, or have it exported as CSV',
  },
  { pattern: /^\{\\rtf/, problem: () => 'is a text document (RTF)', help: exportAs },
] as const

/** Passes a text through. Refuses one whose beginning shows that it is no table. */
export async function* requireTableText(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let isFirst = true
  for await (const chunk of joinChunks(chunks, headBytes)) {
    const other = isFirst ? findOtherText(chunk.toString('utf8', 0, headBytes)) : null
    if (other) throw unreadable(`${name} ${other.problem}`, other.help)
    isFirst = false
    yield chunk
  }
}

/** Whether a text begins as JSON does. */
export function isLikeJson(start: string): boolean {
  return jsonStart.test(start.trimStart())
}

/** What a text is that is no table, by its beginning; null if it may be one. `format`: what it should be. */
export function findOtherText(
  start: string,
  format = 'CSV',
): { readonly problem: string; readonly help: string } | null {
  const head = start.trimStart()
  const other = otherTexts.find(({ pattern }) => pattern.test(head))
  return other ? { problem: other.problem(head), help: other.help(format) } : null
}
