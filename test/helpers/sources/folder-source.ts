import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { z } from 'zod'
import type {
  Connector,
  ConnectorContext,
  OpenOptions,
  Reading,
  SourceIdentity,
  SourceRow,
} from '../../../src/connectors/connector.ts'
import { folderConnector } from '../../../src/connectors/folder/open.ts'
import { FolderSource } from '../../../src/connectors/folder/settings.ts'
import { Failure } from '../../../src/errors.ts'
import type { ExportFolder } from './exports.ts'

export type FolderSettings = Partial<z.input<typeof FolderSource>>

/** The connector of a folder's exports: `*.csv`, read without a quiet period, unless the settings say otherwise. */
export function connectorFor(folder: ExportFolder, settings: FolderSettings = {}): Connector {
  const defaults = { type: 'csv', path: '*.csv', mode: 'snapshot', complete: { quietSeconds: 0 } }
  return folderConnector(FolderSource.parse({ ...defaults, ...settings }), contextIn(folder.path))
}

export function openIn(
  folder: ExportFolder,
  settings: FolderSettings = {},
  options: Partial<OpenOptions> = {},
): Promise<Reading> {
  return connectorFor(folder, settings).open(openOptions(options))
}

export function openOptions(options: Partial<OpenOptions> = {}): OpenOptions {
  const signal = new AbortController().signal
  return { now: () => new Date(), signal, findDecided: async () => new Set(), ...options }
}

/** What was read, of a reading that must have found something. */
export function identityOf({ source }: Reading): SourceIdentity {
  if (!source) throw new Error('expected an export, found nothing new')
  return source
}

export async function rowsOf({ rows }: Reading): Promise<SourceRow[]> {
  const all: SourceRow[] = []
  for await (const slice of rows) all.push(...slice)
  return all
}

/** The text of the failure that `act` ends in; it has to be one that the source's owner can act on. */
export async function refusalOf(act: () => Promise<unknown>): Promise<string> {
  const error = await act().then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof Failure && error.code === 'source_unreadable') return error.message
  throw new Error(`expected a refusal of the source, got ${String(error)}`, { cause: error })
}

/** Root may read everything, so that a test of permissions has to be somebody else for a moment. */
export async function asNobody<T>(act: () => Promise<T>): Promise<T> {
  const isRoot = process.geteuid?.() === 0
  if (isRoot) process.seteuid?.(65_534)
  try {
    return await act()
  } finally {
    if (isRoot) process.seteuid?.(0)
  }
}

/** A folder on another file system than the one of temporary files. */
export async function folderElsewhere(): Promise<AsyncDisposable & { readonly path: string }> {
  const { dev } = await stat(tmpdir())
  const candidates = await Promise.all(
    ['/dev/shm', '/var/tmp'].map(async (folder) => ({ place: folder, isOther: (await stat(folder)).dev !== dev })),
  )
  const other = candidates.find(({ isOther }) => isOther)
  if (other === undefined) throw new Error(`${tmpdir()}, /dev/shm and /var/tmp lie on the same file system`)
  const path = await mkdtemp(join(other.place, 'rollcall-'))
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) }
}

function contextIn(baseDir: string): ConnectorContext {
  return { baseDir, spoolDir: `${baseDir}/spool`, secret: () => null }
}
