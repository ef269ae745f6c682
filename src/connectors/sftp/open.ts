import type { Connector, ConnectorContext, Decision, OpenOptions, Reading, SourceIdentity } from '../connector.ts'
import { asOfFile } from '../file/as-of.ts'
import { companionSuffixes } from '../file/completeness.ts'
import { parseSideFile, type SideFileStatement } from '../file/side-file.ts'
import { nothingNew } from '../nothing-new.ts'
import { type FetchedExport, readFetched, requireSideFile } from '../remote/fetched.ts'
import { archiveRemoteExport } from './archive.ts'
import { type ChosenRemoteExport, chooseExport } from './choice.ts'
import { download, readText } from './fetch.ts'
import { loadSftp } from './load.ts'
import { joinRemotePath, parseRemotePattern } from './matches.ts'
import type { SftpSession } from './session.ts'
import type { SftpSource } from './settings.ts'

/**
 * Reads CSV exports from an SFTP server. Opening the source fetches the whole export, and continues an attempt that broke off. The rows
 * are read from the copy, which is removed when the reading is closed.
 */
export function sftpConnector(source: SftpSource, context: ConnectorContext): Connector {
  return {
    open: (options) => openSource(source, context, options),
    archive: (identity, decision) => archive(source, context, { identity, decision }),
  }
}

type ReadExport = { readonly identity: SourceIdentity; readonly decision: Decision }

async function archive(source: SftpSource, context: ConnectorContext, { identity, decision }: ReadExport) {
  const { archiveDir, rejectDir, ...actions } = source.afterwards
  const action = actions[decision]
  if (action === 'keep') return
  const { signal } = new AbortController()
  const { connectSftp } = await loadSftp()
  await using session = await connectSftp(source, { secret: context.secret, signal })
  const folder = decision === 'accepted' ? archiveDir : rejectDir
  await archiveRemoteExport(session, {
    path: source.path,
    source: identity,
    target: action === 'delete' ? null : folder,
    suffixes: companionSuffixes(source.complete),
    now: new Date(),
  })
}

async function openSource(source: SftpSource, context: ConnectorContext, options: OpenOptions): Promise<Reading> {
  const fetched = await fetchNext(source, context, options)
  if (!fetched) return nothingNew(options.now())
  return await readFetched(fetched, source, { signal: options.signal, secret: context.secret })
}

async function fetchNext(
  source: SftpSource,
  context: ConnectorContext,
  options: OpenOptions,
): Promise<FetchedExport | null> {
  const { host, port, username, idleTimeoutMs } = source
  const { connectSftp } = await loadSftp()
  await using session = await connectSftp(source, { secret: context.secret, signal: options.signal })
  const chosen = await chooseExport(session, source, options)
  if (!chosen) return null
  const asOf = asOfFile(chosen.file, { ...source, now: options.now() })
  const stated = await readSideFile(session, source, chosen)
  const serverId = JSON.stringify([host, port, username])
  const local = await download(session, chosen.file, { spoolDir: context.spoolDir, serverId, idleTimeoutMs })
  return { file: chosen.file, more: chosen.more, asOf, stated, local }
}

async function readSideFile(
  session: SftpSession,
  { path, complete: { sideFile } }: SftpSource,
  { file, companions }: ChosenRemoteExport,
): Promise<SideFileStatement | null> {
  if (!sideFile) return null
  const name = requireSideFile(companions, { exportName: file.name, suffix: sideFile.suffix, server: session.server })
  const text = await readText(session, joinRemotePath(parseRemotePattern(path).folder, name))
  return parseSideFile(text, { holds: sideFile.holds, exportName: file.name, name })
}
