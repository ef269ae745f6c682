import { unreadable } from '../file/failures.ts'

/** Records with lists of their own are seldom deeper. */
const maxDepth = 6
const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openBrace, closeBrace, openBracket, closeBracket] = [0x7b, 0x7d, 0x5b, 0x5d]

/**
 * The beginning of a JSON text as a text of its own: up to the last item that another one follows, with its open lists and objects closed.
 * `name`: the name of the text in failures.
 */
export function closedJson(start: Buffer, name: string): Buffer {
  const open: number[] = []
  let end = 0
  let closing: readonly number[] = []
  for (let at = 0; at < start.length; at += 1) {
    const byte = start[at]
    if (byte === quote) at = endOfString(start, at)
    else if (byte === openBrace) open.push(closeBrace)
    else if (byte === openBracket) open.push(closeBracket)
    else if (byte === closeBrace || byte === closeBracket) open.pop()
    else if (byte === comma && open.at(-1) === closeBracket && open.length <= maxDepth) {
      end = at
      closing = [...open]
    }
  }
  if (end > 0) return Buffer.concat([start.subarray(0, end), Buffer.from(closing.toReversed())])
  const mebibytes = Math.floor(start.length / 1024 / 1024)
  throw unreadable(`${name} is JSON of more than ${mebibytes} MiB`, 'look at a smaller file of the same form')
}

function endOfString(text: Buffer, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    if (text[at] === quote) return at
    if (text[at] === backslash) at += 1
  }
  return text.length
}
