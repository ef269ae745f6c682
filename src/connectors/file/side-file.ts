import { createHash } from 'node:crypto'
import { constants } from 'node:fs'
import { open } from 'node:fs/promises'
import { basename } from 'node:path'
import { z } from 'zod'
import { pluralize } from '../../identity/pluralize.ts'
import type { SourceRow } from '../connector.ts'
import { type ExportFile, readBytes } from './export-file.ts'
import { cannotRead, unreadable } from './failures.ts'

const sideFileLimitBytes = 64 * 1024
const sum = '[0-9a-fA-F]{64}'
// The first is what sha256sum writes (a leading backslash means that the name holds escapes), the second what BSD and OpenSSL write.
const sumThenName = new RegExp(`^\\\\?(?<sum>${sum})(?: [ *](?<name>.+))?$`)
const nameThenSum = new RegExp(`^SHA2?-?256 ?\\((?<name>.+)\\) ?= ?(?<sum>${sum})$`, 'i')

/** The suffix of a file that lies beside an export and belongs to it. */
export const Suffix = z.string().regex(/^\.[\w.-]{0,30}\w$/, {
  error: 'expected an ending that begins with a dot, such as .done',
})

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
export type SideFile = z.infer<typeof SideFile>

/** The statement of a side file about its export. */
export type SideFileStatement = { readonly sha256: string } | { readonly rows: number }

/** Reads what the side file at `path` says about the export of that name. */
export async function readSideFile(
  path: string,
  { holds, exportName }: { readonly holds: SideFile['holds']; readonly exportName: string },
): Promise<SideFileStatement> {
  return parseSideFile(await readText(path), { holds, exportName, name: basename(path) })
}

/** What the text of the side file `name` says about the export of that name. */
export function parseSideFile(
  text: string,
  {
    holds,
    exportName,
    name,
  }: { readonly holds: SideFile['holds']; readonly exportName: string; readonly name: string },
): SideFileStatement {
  const plain = text.replace(/^\uFEFF/, '').trim()
  if (holds === 'rows') return { rows: rowsIn(plain, name) }
  return { sha256: sumIn(plain, { exportName, name }) }
}

/** Refuses the file if the side file states another checksum. It reads the whole file. A count of rows can only be checked at the end. */
export async function checkChecksum(file: ExportFile, expected: SideFileStatement, signal: AbortSignal): Promise<void> {
  if (!('sha256' in expected)) return
  const hash = createHash('sha256')
  for await (const chunk of readBytes(file, signal)) hash.update(chunk)
  if (hash.digest('hex') === expected.sha256) return
  throw unreadable(
    `${file.name} does not have the sha256 sum that its side file states`,
    'it was cut off or changed on its way, or the two belong to different exports: have both delivered again',
  )
}

/** Passes the rows through. At the end it throws if the number of rows is not the one that the side file states. */
export async function* checkRowCount(
  rows: AsyncIterable<readonly SourceRow[]>,
  { name, expected }: { readonly name: string; readonly expected: SideFileStatement },
): AsyncGenerator<readonly SourceRow[]> {
  let count = 0
  for await (const slice of rows) {
    count += slice.length
    yield slice
  }
  if (!('rows' in expected) || expected.rows === count) return
  throw unreadable(
    `${name} has ${pluralize(count, 'row')} below its header, and its side file states ${expected.rows}`,
    'the export was cut off, or the two belong to different exports: have both delivered again',
  )
}

function rowsIn(text: string, name: string): number {
  if (/^\d{1,12}$/.test(text)) return Number(text)
  throw unreadable(`${name} holds no bare number`, 'it has to say how many rows the export has below its header')
}

function sumIn(content: string, { exportName, name }: { readonly exportName: string; readonly name: string }): string {
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
    const { bytesRead, buffer } = await handle.read({ buffer: Buffer.alloc(sideFileLimitBytes + 1) })
    if (bytesRead <= sideFileLimitBytes) return buffer.toString('utf8', 0, bytesRead)
  } catch (error) {
    throw cannotRead(path, error)
  }
  throw unreadable(`${basename(path)} is longer than 64 KiB`, 'a side file holds one sum or one number')
}
