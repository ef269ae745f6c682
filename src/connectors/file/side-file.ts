import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { z } from 'zod'
import { pluralize } from '../../identity/pluralize.ts'
import type { SourceRow } from '../connector.ts'
import { type ExportFile, readBytes } from './export-file.ts'
import { cannotRead, unreadable } from './failures.ts'

const maxSideFileBytes = 64 * 1024
const digest = '[0-9a-fA-F]{64}'
// sha256sum writes the first form (a leading backslash: the name holds escapes), BSD and OpenSSL the second.
const sumThenName = new RegExp(`^\\\\?(?<sum>${digest})(?: [ *](?<name>.+))?$`)
const nameThenSum = new RegExp(`^SHA2?-?256 ?\\((?<name>.+)\\) ?= ?(?<sum>${digest})$`, 'i')

/** The suffix of a file that belongs to an export and is in the same folder. */
export const Suffix = z.string().regex(/^\.[\w.-]{0,30}\w$/, {
  error: 'expected an ending that begins with a dot, such as .done',
})

/** The setting `complete.sideFile`. */
export const SideFile = z
  .strictObject({
    suffix: Suffix.describe('The ending of its name, such as .sha256 for people.csv.sha256 or people.sha256.'),
    holds: z
      .enum(['sha256', 'rows'])
      .describe(
        'sha256: the sum of the export as it was delivered, bare or as sha256sum writes it. rows: how many rows the export has ' +
          'below its header, as a bare number.',
      ),
  })
  .describe(
    'A file that comes with every export and says what the export has to hold. An export without it, or with other content, is refused.',
  )
/** Which side file an export has. */
export type SideFile = z.infer<typeof SideFile>

/** The statement of a side file about its export. */
export type SideFileStatement = { readonly sha256: string } | { readonly rows: number }

/** Reads the side file at `path`. */
export async function readSideFile(path: string, file: Omit<SideFileText, 'name'>): Promise<SideFileStatement> {
  return parseSideFile(await readText(path), { ...file, name: basename(path) })
}

/** `name`: the name of the side file. */
type SideFileText = { readonly holds: SideFile['holds']; readonly exportName: string; readonly name: string }

/** Parses the text of a side file. Refuses a text that does not hold what the setting says. */
export function parseSideFile(text: string, { holds, exportName, name }: SideFileText): SideFileStatement {
  const trimmed = text.replace(/^\uFEFF/, '').trim()
  return holds === 'rows' ? { rows: parseRowCount(trimmed, name) } : { sha256: parseDigest(trimmed, exportName, name) }
}

/** Refuses the file if the side file states another checksum. Reads the whole file. Does nothing for a number of rows. */
export async function checkChecksum(file: ExportFile, stated: SideFileStatement, signal: AbortSignal): Promise<void> {
  if (!('sha256' in stated)) return
  const hash = createHash('sha256')
  for await (const chunk of readBytes(file, signal)) hash.update(chunk)
  if (hash.digest('hex') === stated.sha256) return
  throw unreadable(
    `${file.name} does not have the sha256 sum that its side file states`,
    'it was cut off or changed on its way, or the two belong to different exports: have both delivered again',
  )
}

/** Passes the rows through. Throws at the end if the side file states another number of rows. */
export async function* checkRowCount(
  rows: AsyncIterable<readonly SourceRow[]>,
  name: string,
  stated: SideFileStatement,
): AsyncGenerator<readonly SourceRow[]> {
  let count = 0
  for await (const slice of rows) {
    count += slice.length
    yield slice
  }
  if (!('rows' in stated) || stated.rows === count) return
  throw unreadable(
    `${name} has ${pluralize(count, 'row')}, not counting a header, and its side file states ${stated.rows}`,
    'the export was cut off, or the two belong to different exports: have both delivered again',
  )
}

function parseRowCount(text: string, name: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text)
  throw unreadable(`${name} holds no bare number`, 'it has to say how many rows the export has, not counting a header')
}

function parseDigest(content: string, exportName: string, name: string): string {
  const lines = content.split(/\r?\n|\r/).map((text) => (sumThenName.exec(text) ?? nameThenSum.exec(text))?.groups)
  const named = lines.filter((groups) => groups?.name !== undefined && basename(groups.name) === exportName)
  const [line, second] = named.length > 0 ? named : lines
  if (line?.sum && !second) return line.sum.toLowerCase()
  throw unreadable(
    `${name} holds no sha256 sum of ${exportName}`,
    'write the sum as 64 hexadecimal digits, alone or as sha256sum does',
  )
}

async function readText(path: string): Promise<string> {
  try {
    await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW)
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(maxSideFileBytes + 1) })
    if (bytesRead <= maxSideFileBytes) return buffer.toString('utf8', 0, bytesRead)
  } catch (error) {
    throw cannotRead(path, error)
  }
  throw unreadable(`${basename(path)} is longer than 64 KiB`, 'a side file holds one sum or one number')
}
