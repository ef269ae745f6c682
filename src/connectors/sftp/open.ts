import { rm } from 'node:fs/promises'
import type { Connector, ConnectorPlace, OpenOptions, Reading, SourceRow } from '../connector.ts'
import { openExport } from '../csv/open-export.ts'
import { asOfFile } from '../file/as-of.ts'
import { companionNames, companionSuffixes } from '../file/completeness.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { checkSum, countedRows, type Expected, parseSideFile } from '../file/side-file.ts'
import { type Chosen, chooseExport } from './choice.ts'
import { download, readText } from './fetch.ts'
import { loadSftp } from './load.ts'
import { inFolder, remotePattern } from './matches.ts'
import type { SftpSession } from './session.ts'
import type { SftpSource } from './settings.ts'
import { settleRemote } from './settle.ts'

type Fetched = Chosen & {
  readonly local: ExportFile
  readonly asOf: string
  /** What the side file says; null if none is configured. */
  readonly expected: Expected | null
}

/**
 * Reads CSV exports from an SFTP server. Opening the source fetches the whole export, and continues an earlier attempt that broke off.
 * The rows are read from the copy, which is removed at their end.
 */
export function sftpConnector(source: SftpSource, place: ConnectorPlace): Connector {
  return {
    open: (options) => openSource(source, place, options),
    async settle(identity, decision) {
      const { accepted, refused, archiveDir, rejectDir } = source.afterwards
      const fate = decision === 'accepted' ? accepted : refused
      if (fate === 'keep') return
      const { signal } = new AbortController()
      const { connectSftp } = await loadSftp()
      await using session = await connectSftp(source, { secret: place.secret, signal })
      const target = fate === 'delete' ? null : decision === 'accepted' ? archiveDir : rejectDir
      const suffixes = companionSuffixes(source.complete)
      await settleRemote(session, { path: source.path, source: identity, target, suffixes, now: new Date() })
    },
  }
}

async function openSource(source: SftpSource, place: ConnectorPlace, options: OpenOptions): Promise<Reading> {
  const fetched = await fetchNext(source, place, options)
  if (!fetched) return nothingNew(options.now())
  const { file, local, more, asOf, expected } = fetched
  const { signal } = options
  try {
    if (expected) await checkSum(local, expected, signal)
    const opened = await openExport(local, source, { signal, secret: place.secret })
    const rows = expected ? countedRows(opened.rows, { name: file.name, expected }) : opened.rows
    return {
      mode: source.mode,
      asOf,
      source: { name: file.name, bytes: file.bytes, version: file.version, ...(more ? { more } : {}) },
      headers: opened.headers,
      rows: thenRemoved(rows, local),
      warnings: opened.warnings,
      textBytes: opened.textBytes,
      cellBytes: opened.cellBytes,
      close: () => rm(local.path, { force: true }),
    }
  } catch (error) {
    await rm(local.path, { force: true })
    throw error
  }
}

async function fetchNext(source: SftpSource, place: ConnectorPlace, options: OpenOptions): Promise<Fetched | null> {
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
  { file, companions }: Chosen,
): Promise<Expected | null> {
  if (!sideFile) return null
  const names = companionNames(file.name, sideFile.suffix)
  const name = names.find((candidate) => companions.get(candidate)?.kind === 'file')
  if (!name) {
    const what = `${file.name} on ${session.server} has no side file ${names.join(' or ')}`
    throw unreadable(what, 'have it delivered with the export, or leave complete.sideFile out')
  }
  const text = await readText(session, inFolder(remotePattern(path).folder, name))
  return parseSideFile(text, { holds: sideFile.holds, exportName: file.name, name })
}

/** Passes the rows through, and removes the copy that they come from, however the reading ends. */
async function* thenRemoved(
  rows: AsyncIterable<readonly SourceRow[]>,
  { path }: ExportFile,
): AsyncGenerator<readonly SourceRow[]> {
  try {
    yield* rows
  } finally {
    await rm(path, { force: true })
  }
}

function nothingNew(now: Date): Reading {
  return { mode: 'delta', asOf: now.toISOString(), source: null, headers: [], rows: noRows() }
}

async function* noRows(): AsyncGenerator<readonly SourceRow[]> {}
