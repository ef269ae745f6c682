import { quoted } from '../../identity/lint/quoted.ts'
import { joinChunks } from '../file/chunks.ts'
import { unreadable } from '../file/failures.ts'

const headBytes = 1024
// The tags that a page begins with, up to the first text between them.
const tags = /^(?:\s*<[^<>]*>)*/
const htmlTags = 'html|head|body|title|meta|link|style|script|table|div|form|center|font'

/** Texts that are no table: how they begin, and what helps. */
const otherTexts = [
  {
    begins: new RegExp(`^(?:<\\?xml[^>]*>\\s*)?<(?:!doctype\\s+html|!--|(?:${htmlTags})[\\s>])`, 'i'),
    what: (head: string) => `is a web page (HTML) that begins with ${quoted(tags.exec(head)?.[0] ?? '')}`,
    help: 'it may be a page to sign in that was saved in place of the export; check how the export is fetched',
  },
  { begins: /^<\?xml/i, what: () => 'is XML', help: 'have it exported as CSV' },
  { begins: /^(?:\{\s*"|\{\s*\}|\[\s*[[{"\]])/, what: () => 'is JSON', help: 'have it exported as CSV' },
  { begins: /^\{\\rtf/, what: () => 'is a text document (RTF)', help: 'have it exported as CSV' },
] as const

/** Passes a text through, and refuses one that is no table, as its beginning shows. */
export async function* requireTableText(chunks: AsyncIterable<Buffer>, name: string): AsyncGenerator<Buffer> {
  let first = true
  for await (const chunk of joinChunks(chunks, headBytes)) {
    if (first) refuseOtherText(chunk.toString('utf8', 0, headBytes).trimStart(), name)
    first = false
    yield chunk
  }
}

function refuseOtherText(head: string, name: string): void {
  const other = otherTexts.find(({ begins }) => begins.test(head))
  if (other) throw unreadable(`${name} ${other.what(head)}`, other.help)
}
