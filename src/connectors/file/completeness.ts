import { extname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { OpenOptions } from '../connector.ts'
import type { ExportFile } from './export-file.ts'
import { unreadable } from './failures.ts'
import { SideFile, Suffix } from './side-file.ts'

const patience = 10

/** How a source tells a complete export from one that is still being written. All sources of files share these settings. */
export const completeness = {
  quietSeconds: z
    .number()
    .min(0)
    .max(3600)
    .default(5)
    .describe(
      'How many seconds an export must be unchanged before it is read. 0 reads it at once. A run waits for the rest of that time, ' +
        `at most ${patience} times as long. With a marker it does not wait.`,
    ),
  marker: Suffix.optional().describe(
    'The ending of an empty file that says that the export is complete, such as .done. people.csv is read when people.csv.done or ' +
      'people.done is beside it and is no older than people.csv.',
  ),
  sideFile: SideFile.optional(),
}

export const Completeness = z.strictObject(completeness).describe('How we know that an export is complete.')
export type Completeness = z.infer<typeof Completeness>

/** The possible names of a companion, which is a marker or a side file: `people.csv.done` and `people.done`. */
export function companionNames(exportName: string, suffix: string): readonly string[] {
  const stem = exportName.slice(0, exportName.length - extname(exportName).length)
  return [...new Set([exportName + suffix, stem + suffix])].filter((name) => name !== exportName)
}

/** The suffixes of the companions of an export. */
export function companionSuffixes({ marker, sideFile }: Completeness): readonly string[] {
  return [marker, sideFile?.suffix].filter((suffix) => suffix !== undefined)
}

type QuietOptions = {
  readonly quietSeconds: number
  readonly signal: AbortSignal
  readonly onWait?: OpenOptions['onWait']
}

/**
 * Returns what `find` finds once the file has not changed for `quietSeconds`. The modification time shows that; if its clock runs
 * ahead of ours, watching the file does. If another file is found meanwhile, the wait begins again for that one. A file that keeps
 * changing is refused.
 */
export async function waitUntilQuiet<Found extends { readonly file: ExportFile } | null>(
  find: () => Promise<Found>,
  { quietSeconds, signal, onWait }: QuietOptions,
): Promise<Found> {
  const quietMs = quietSeconds * 1000
  const startedAtMs = performance.now()
  let found = await find()
  let sameSinceMs = performance.now()
  for (;;) {
    signal.throwIfAborted()
    if (!found || quietMs === 0) return found
    const { file } = found
    const nowMs = performance.now()
    const remainingMs = quietMs - Math.max(Date.now() - file.modifiedAtMs, nowMs - sameSinceMs)
    if (remainingMs <= 0) return found
    if (nowMs - startedAtMs + remainingMs > patience * quietMs) throw stillWritten(file, quietSeconds)
    onWait?.(`waiting ${Math.ceil(remainingMs / 1000)} s: the export was written just now`)
    await wait(remainingMs, signal)
    const next = await find()
    if (!same(found, next)) sameSinceMs = performance.now()
    found = next
  }
}

function same(one: { readonly file: ExportFile }, other: { readonly file: ExportFile } | null): boolean {
  return one.file.path === other?.file.path && one.file.version === other.file.version
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    // A timer may fire slightly early. One more millisecond saves a second turn.
    await pause(Math.ceil(ms) + 1, undefined, { signal })
  } catch {
    signal.throwIfAborted()
  }
}

function stillWritten({ name }: ExportFile, quietSeconds: number) {
  const what = `${name} is still being written: for ${patience * quietSeconds} seconds it never stood still for ${quietSeconds}`
  return unreadable(what, 'write it under another name and rename it when it is complete, or write a marker file')
}
