import { unreadable } from '../file/failures.ts'

const carriageReturn = 13
const lineFeed = 10
const titleLimitBytes = 1024 * 1024

/** The text from a line on, counted from 1. Nothing where it has fewer lines. */
export async function* fromLine(
  chunks: AsyncIterable<Buffer>,
  { name, line }: { readonly name: string; readonly line: number },
): AsyncGenerator<Buffer> {
  let missing = line - 1
  let titleBytes = 0
  let afterReturn = false
  for await (const chunk of chunks) {
    if (chunk.length === 0) continue
    // A chunk can end within a CRLF.
    let start: number = afterReturn && chunk[0] === lineFeed ? 1 : 0
    afterReturn = false
    while (missing > 0 && start < chunk.length) {
      const byte: number | undefined = chunk[start]
      start += 1
      if (byte !== lineFeed && byte !== carriageReturn) continue
      missing -= 1
      if (byte === carriageReturn && chunk[start] === lineFeed) start += 1
      afterReturn = byte === carriageReturn && start === chunk.length && chunk[start - 1] === carriageReturn
    }
    titleBytes += start
    if (missing > 0 && titleBytes > titleLimitBytes)
      throw unreadable(`${name}: more than 1 MiB stand above line ${line}, the header`, 'check headerLine and encoding')
    if (start < chunk.length) yield start === 0 ? chunk : chunk.subarray(start)
  }
}
