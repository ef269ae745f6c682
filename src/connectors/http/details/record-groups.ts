import type { FileHandle } from 'node:fs/promises'
import { type ExportFile, openWithoutWaiting } from '../../file/export-file.ts'
import { unreadable } from '../../file/failures.ts'
import { isObject, type JsonObject, type JsonValue, pointer } from '../../json/cells.ts'
import { spooledRecords } from '../lists/list-rows.ts'

/** The records of a spooled list by their key. Memory holds keys and positions in the file; records are read when they are needed. */
export type RecordGroups = AsyncDisposable & {
  /** The records with this key, in the order of the list. */
  readonly find: (key: string) => Promise<readonly JsonObject[]>
  /** How many records were never found: their key is blank, or nobody looked for it. */
  readonly countUnused: () => number
}

type SpooledList = { readonly file: ExportFile; readonly counts: readonly number[] }

/** Where the records of one key begin and end in the file. */
type Group = { readonly positions: { readonly start: number; readonly length: number }[]; isUsed: boolean }

/** Groups the records of a list by the value at a pointer. Refuses a record that is no object, and a key that is no text or number. */
export async function openRecordGroups(
  { file, counts }: SpooledList,
  on: string,
  signal: AbortSignal,
): Promise<RecordGroups> {
  const groups = new Map<string, Group>()
  let start = 0
  let withoutKey = 0
  for await (const { text, origin } of spooledRecords(file, counts, signal)) {
    const length = Buffer.byteLength(text)
    const key = keyOf(JSON.parse(text), on, `${origin.file} record ${origin.line}`)
    const group = groups.get(key) ?? { positions: [], isUsed: false }
    if (key === '') withoutKey += 1
    else groups.set(key, group)
    group.positions.push({ start, length })
    start += length + 1
  }
  const handle = await openWithoutWaiting(file.path)
  return {
    find: async (key) => {
      const group = groups.get(key)
      if (!group) return []
      group.isUsed = true
      return await Promise.all(group.positions.map((position) => readRecord(handle, position)))
    },
    countUnused: () =>
      [...groups.values()].reduce((sum, { isUsed, positions }) => sum + (isUsed ? 0 : positions.length), withoutKey),
    [Symbol.asyncDispose]: () => handle.close(),
  }
}

/** The key as the server wrote it; empty if the record has none. */
function keyOf(record: JsonValue, on: string, position: string): string {
  if (!isObject(record)) throw unreadable(`${position} is no object`, 'check records of join')
  const key = pointer(record, on) ?? ''
  if (typeof key === 'object') throw unreadable(`${position} has no text and no number at ${on}`, 'check on of join')
  const text = String(key)
  return text.trim() === '' ? '' : text
}

async function readRecord(
  handle: FileHandle,
  { start, length }: { readonly start: number; readonly length: number },
): Promise<JsonObject> {
  const { bytesRead, buffer } = await handle.read(Buffer.allocUnsafe(length), 0, length, start)
  if (bytesRead !== length) throw new Error(`a spooled list ended at ${start + bytesRead}`)
  return JSON.parse(buffer.toString())
}
