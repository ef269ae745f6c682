import type { Connector, ConnectorContext, OpenOptions, SourceIdentity } from '../connector.ts'
import type { Afterwards } from '../file/afterwards.ts'
import { asOfFile } from '../file/as-of.ts'
import { companionSuffixes } from '../file/completeness.ts'
import type { ExportFile } from '../file/export-file.ts'
import { parseSideFile, type SideFileStatement } from '../file/side-file.ts'
import { nothingNew } from '../nothing-new.ts'
import {
  type ChoiceSettings,
  type ChosenRemoteExport,
  chooseRemoteExport,
  type HasModificationTime,
  type RemoteFolder,
} from './choice.ts'
import { type ExportSettings, type FetchedExport, readFetched, requireSideFile } from './fetched.ts'
import type { LocalCopy } from './spool.ts'

/** Which export to archive or delete. */
export type ArchiveRequest = {
  readonly source: SourceIdentity
  /** The folder it moves to, relative to where it is unless it begins with a slash; null deletes it. */
  readonly target: string | null
  /** The suffixes of the companions. */
  readonly suffixes: readonly string[]
  readonly now: Date
}

/** A connection to the server or bucket of a source. */
type RemoteSession<File extends ExportFile, Companion extends HasModificationTime> = AsyncDisposable & {
  /** Aborts when the caller stops, or when the connection takes too long. */
  readonly signal: AbortSignal
  readonly folder: RemoteFolder<File, Companion>
  /** Fetches an export to this machine, and continues an attempt that broke off. */
  readonly download: (file: File) => Promise<LocalCopy>
  /** The text of a side file. */
  readonly readText: (companion: Companion, name: string) => Promise<string>
  readonly archive: (request: ArchiveRequest) => Promise<void>
}

type RemoteSource = ChoiceSettings & ExportSettings & { readonly afterwards: Omit<Afterwards, 'keepDays'> }

/**
 * Reads exports from a server. Opening the source fetches the whole export. The rows are read from the copy, which is removed when the
 * reading is closed.
 */
export function remoteConnector<File extends ExportFile, Companion extends HasModificationTime>(
  source: RemoteSource,
  { secret }: Pick<ConnectorContext, 'secret'>,
  connect: (signal: AbortSignal) => Promise<RemoteSession<File, Companion>>,
): Connector {
  return {
    async open(options) {
      const fetched = await fetchNext(source, connect, options)
      if (!fetched) return nothingNew(options.now())
      return await readFetched(fetched, source, { signal: options.signal, secret })
    },
    async archive(identity, decision) {
      const { archiveDir, rejectDir, ...actions } = source.afterwards
      const action = actions[decision]
      if (action === 'keep') return
      await using session = await connect(new AbortController().signal)
      const folder = decision === 'accepted' ? archiveDir : rejectDir
      await session.archive({
        source: identity,
        target: action === 'delete' ? null : folder,
        suffixes: companionSuffixes(source.complete),
        now: new Date(),
      })
    },
  }
}

async function fetchNext<File extends ExportFile, Companion extends HasModificationTime>(
  source: RemoteSource,
  connect: (signal: AbortSignal) => Promise<RemoteSession<File, Companion>>,
  options: OpenOptions,
): Promise<FetchedExport | null> {
  await using session = await connect(options.signal)
  const { folder, signal } = session
  const chosen = await chooseRemoteExport(folder, source, { ...options, signal })
  if (!chosen) return null
  const { file, more } = chosen
  const asOf = asOfFile(file, { ...source, now: options.now() })
  const stated = await readSideFile(session, source, chosen)
  return { file, more, asOf, stated, local: await session.download(file) }
}

async function readSideFile<File extends ExportFile, Companion extends HasModificationTime>(
  { folder: { server }, readText }: RemoteSession<File, Companion>,
  { complete: { sideFile } }: RemoteSource,
  { file, companions }: ChosenRemoteExport<File, Companion>,
): Promise<SideFileStatement | null> {
  if (!sideFile) return null
  const { suffix, holds } = sideFile
  const { name, companion } = requireSideFile(companions, { exportName: file.name, suffix, server })
  return parseSideFile(await readText(companion, name), { holds, exportName: file.name, name })
}
