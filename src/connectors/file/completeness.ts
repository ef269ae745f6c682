import { extname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { z } from 'zod'
import type { OpenOptions } from '../connector.ts'
import type { ExportFile } from './export-file.ts'
import { unreadable } from './failures.ts'
import { SideFile, Suffix } from './side-file.ts'

/** A run waits at most this many times the quiet period. */
const maxWaitFactor = 10

/** How a source tells a complete export from one that is still being written. All sources of files share these settings. */
export const completeness = {
  quietSeconds: z
    .number()
    .min(0)
    .max(3600)
    .default(5)
    .describe(
      'How many seconds an export must be unchanged before it is read. 0 reads it at once. A run waits for the rest of that time, ' +
        `at most ${maxWaitFactor} times as long. With a marker it does not wait.`,
    ),
  marker: Suffix.optional().describe(
    'The ending of an empty file that says that the export is complete, such as .done. people.csv is read when people.csv.done or ' +
      'people.done is beside it and is no older than people.csv.',
  ),
  sideFile: SideFile.optional(),
}

/** The setting `complete`. */
export const Completeness = z.strictObject(completeness).describe('How we know that an export is complete.')
/** How an export is known to be complete. */
export type Completeness = z.infer<typeof Completeness>

/** The possible names of a companion (a marker or a side file) of an export: `people.csv.done` and `people.done`. */
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

type Candidate = { readonly file: ExportFile }

/**
 * Returns the result of `find` once its file has not changed for `quietSeconds`, by its modification time, or by repeated calls if the
 * clock of the file is ahead of ours. If `find` returns another file meanwhile, the wait starts again. Refuses a file that keeps
 * changing.
 */
export async function waitUntilQuiet<Result extends Candidate | null>(
  find: () => Promise<Result>,
  { quietSeconds, signal, onWait }: QuietOptions,
): Promise<Result> {
  const quietMs = quietSeconds * 1000
  const startedAtMs = performance.now()
  let current = await find()
  let sameSinceMs = performance.now()
  for (;;) {
    signal.throwIfAborted()
    if (!current || quietMs === 0) return current
    const { file } = current
    const nowMs = performance.now()
    const remainingMs = quietMs - Math.max(Date.now() - file.modifiedAtMs, nowMs - sameSinceMs)
    if (remainingMs <= 0) return current
    if (nowMs - startedAtMs + remainingMs > maxWaitFactor * quietMs) throw stillWritten(file, quietSeconds)
    onWait?.(`waiting ${Math.ceil(remainingMs / 1000)} s: the export was written just now`)
    await wait(remainingMs, signal)
    const next = await find()
    if (!isSameFile(current, next)) sameSinceMs = performance.now()
    current = next
  }
}

function isSameFile(one: Candidate, other: Candidate | null): boolean {
  return one.file.path === other?.file.path && one.file.version === other.file.version
}

async function wait(ms: number, signal: AbortSignal): Promise<void> {
  try {
    // A timer may fire slightly early. One more millisecond saves another round.
    await pause(Math.ceil(ms) + 1, undefined, { signal })
  } catch {
    signal.throwIfAborted()
  }
}

function stillWritten({ name }: ExportFile, quietSeconds: number) {
  const problem = `${name} is still being written: for ${maxWaitFactor * quietSeconds} seconds it never stood still for ${quietSeconds}`
  return unreadable(problem, 'write it under another name and rename it when it is complete, or write a marker file')
}
