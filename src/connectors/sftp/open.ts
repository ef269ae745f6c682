import { rm } from 'node:fs/promises'
import type { Connector, ConnectorContext, OpenOptions, Reading, SourceRow } from '../connector.ts'
import { openExport } from '../csv/open-export.ts'
import { asOfFile } from '../file/as-of.ts'
import { companionNames, companionSuffixes } from '../file/completeness.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { checkChecksum, checkRowCount, type SideFileStatement, parseSideFile } from '../file/side-file.ts'
import { type ChosenRemoteExport, chooseExport } from './choice.ts'
import { download, readText } from './fetch.ts'
import { loadSftp } from './load.ts'
import { joinRemotePath, parseRemotePattern } from './matches.ts'
import type { SftpSession } from './session.ts'
import type { SftpSource } from './settings.ts'
import { archiveRemoteExport } from './archive.ts'

type Fetched = ChosenRemoteExport & {
  readonly local: ExportFile
  readonly asOf: string
  /** What the side file says; null if none is configured. */
  readonly expected: SideFileStatement | null
}

/**
 * Reads CSV exports from an SFTP server. Opening the source fetches the whole export, and continues an earlier attempt that broke off.
 * The rows are read from the copy, which is removed when the reading is closed.
 */
export function sftpConnector(source: SftpSource, place: ConnectorContext): Connector {
  return {
    open: (options) => openSource(source, place, options),
    async archive(identity, decision) {
      const { accepted, refused, archiveDir, rejectDir } = source.afterwards
      const fate = decision === 'accepted' ? accepted : refused
      if (fate === 'keep') return
      const { signal } = new AbortController()
      const { connectSftp } = await loadSftp()
      await using session = await connectSftp(source, { secret: place.secret, signal })
      const target = fate === 'delete' ? null : decision === 'accepted' ? archiveDir : rejectDir
      const suffixes = companionSuffixes(source.complete)
      await archiveRemoteExport(session, { path: source.path, source: identity, target, suffixes, now: new Date() })
    },
  }
}

async function openSource(source: SftpSource, place: ConnectorContext, options: OpenOptions): Promise<Reading> {
  const fetched = await fetchNext(source, place, options)
  if (!fetched) return nothingNew(options.now())
  const { file, local, more, asOf, expected } = fetched
  const { signal } = options
  const { name, bytes, version } = file
  const read = async (): Promise<Reading> => {
    const { filterable: _, ...opened } = await openExport(local, source, { signal, secret: place.secret })
    const rows = expected ? checkRowCount(opened.rows, { name, expected }) : opened.rows
    const identity = { name, bytes, version, ...(more ? { more } : {}) }
    return { mode: source.mode, asOf, source: identity, ...opened, rows }
  }
  const close = () => rm(local.path, { force: true })
  try {
    if (expected) await checkChecksum(local, expected, signal)
    return { ...(await read()), reopen: read, close }
  } catch (error) {
    await close()
    throw error
  }
}

async function fetchNext(source: SftpSource, place: ConnectorContext, options: OpenOptions): Promise<Fetched | null> {
  const { host, port, username, idleTimeoutMs } = source
  const { connectSftp } = await loadSftp()
  await using session = await connectSftp(source, { secret: place.secret, signal: options.signal })
  const chosen = await chooseExport(session, source, options)
  if (!chosen) return null
  const asOf = asOfFile(chosen.file, { ...source, now: options.now() })
  const expected = await readExpected(session, source, chosen)
  const origin = JSON.stringify([host, port, username])
  const local = await download(session, chosen.file, { spoolDir: place.spoolDir, place: origin, idleTimeoutMs })
  return { ...chosen, asOf, expected, local }
}

async function readExpected(
  session: SftpSession,
  { path, complete: { sideFile } }: SftpSource,
  { file, companions }: ChosenRemoteExport,
): Promise<SideFileStatement | null> {
  if (!sideFile) return null
  const names = companionNames(file.name, sideFile.suffix)
  const name = names.find((candidate) => companions.get(candidate)?.kind === 'file')
  if (!name) {
    const what = `${file.name} on ${session.server} has no side file ${names.join(' or ')}`
    throw unreadable(what, 'have it delivered with the export, or leave complete.sideFile out')
  }
  const text = await readText(session, joinRemotePath(parseRemotePattern(path).folder, name))
  return parseSideFile(text, { holds: sideFile.holds, exportName: file.name, name })
}

function nothingNew(now: Date): Reading {
  return { mode: 'delta', asOf: now.toISOString(), source: null, headers: [], rows: noRows() }
}

async function* noRows(): AsyncGenerator<readonly SourceRow[]> {}
