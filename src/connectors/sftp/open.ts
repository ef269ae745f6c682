import { rm } from 'node:fs/promises'
import type { Connector, ConnectorContext, Decision, OpenOptions, Reading, SourceIdentity } from '../connector.ts'
import { openExport } from '../csv/open-export.ts'
import { asOfFile } from '../file/as-of.ts'
import { companionNames, companionSuffixes } from '../file/completeness.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { checkChecksum, checkRowCount, parseSideFile, type SideFileStatement } from '../file/side-file.ts'
import { nothingNew } from '../nothing-new.ts'
import { archiveRemoteExport } from './archive.ts'
import { type ChosenRemoteExport, chooseExport } from './choice.ts'
import { download, readText } from './fetch.ts'
import { loadSftp } from './load.ts'
import { joinRemotePath, parseRemotePattern } from './matches.ts'
import type { SftpSession } from './session.ts'
import type { SftpSource } from './settings.ts'

/** An export that was fetched. `stated`: what its side file says; null if none is configured. */
type FetchedExport = ChosenRemoteExport & {
  readonly local: ExportFile
  readonly asOf: string
  readonly stated: SideFileStatement | null
}

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
  const { file, local, more, asOf, stated } = fetched
  const { signal } = options
  const { name, bytes, version } = file
  const read = async (): Promise<Reading> => {
    const { filterable: _, ...opened } = await openExport(local, source, { signal, secret: context.secret })
    const rows = stated ? checkRowCount(opened.rows, name, stated) : opened.rows
    const identity = { name, bytes, version, ...(more ? { more } : {}) }
    return { mode: source.mode, asOf, source: identity, ...opened, rows }
  }
  const close = () => rm(local.path, { force: true })
  try {
    if (stated) await checkChecksum(local, stated, signal)
    return { ...(await read()), reopen: read, close }
  } catch (error) {
    await close()
    throw error
  }
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
  return { ...chosen, asOf, stated, local }
}

async function readSideFile(
  session: SftpSession,
  { path, complete: { sideFile } }: SftpSource,
  { file, companions }: ChosenRemoteExport,
): Promise<SideFileStatement | null> {
  if (!sideFile) return null
  const names = companionNames(file.name, sideFile.suffix)
  const name = names.find((candidate) => companions.get(candidate)?.kind === 'file')
  if (!name) {
    const problem = `${file.name} on ${session.server} has no side file ${names.join(' or ')}`
    throw unreadable(problem, 'have it delivered with the export, or leave complete.sideFile out')
  }
  const text = await readText(session, joinRemotePath(parseRemotePattern(path).folder, name))
  return parseSideFile(text, { holds: sideFile.holds, exportName: file.name, name })
}
