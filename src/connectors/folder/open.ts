import type { Connector, ConnectorContext, OpenOptions, Reading } from '../connector.ts'
import { openExport } from '../csv/open-export.ts'
import { asOfFile } from '../file/as-of.ts'
import { type Completeness, waitUntilQuiet } from '../file/completeness.ts'
import { checkRegular, type ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { checkChecksum, checkRowCount, type SideFileStatement, readSideFile } from '../file/side-file.ts'
import {
  type ChosenExport,
  findCompanions,
  type FindVersions,
  type Folder,
  resolveFolder,
  findNewestExport,
  findNextExport,
  createVersionFinder,
  findVersion,
} from './choice.ts'
import type { FolderSource } from './settings.ts'

/**
 * Reads CSV exports from a folder of this machine. Opening the source reads the header, and the rows are streamed afterwards. A file
 * that changes meanwhile is refused.
 */
export function folderConnector(source: FolderSource, place: ConnectorContext): Connector {
  const folder = resolveFolder(source, place.baseDir)
  const findVersions = createVersionFinder()
  const { watch: by, pollSeconds } = source
  return {
    open: (options) => openNext(source, { folder, findVersions, place, options }),
    archive: async (identity, decision) => (await import('./archive.ts')).archiveExport(folder, identity, decision),
    ...(by === 'off'
      ? {}
      : {
          watch: async (events) => {
            const { watchFolder } = await import('./watch.ts')
            return await watchFolder(folder, { by, pollSeconds }, events)
          },
        }),
  }
}

type Opening = {
  readonly folder: Folder
  readonly findVersions: FindVersions
  readonly place: ConnectorContext
  readonly options: OpenOptions
}

async function openNext(source: FolderSource, { folder, findVersions, place, options }: Opening): Promise<Reading> {
  const { now, signal, findDecided, onWait } = options
  const choose = (): Promise<ChosenExport | null> =>
    source.take === 'each' ? findNextExport(folder, findDecided, findVersions) : findNewestExport(folder)
  const quietSeconds = source.complete.marker === undefined ? source.complete.quietSeconds : 0
  const choice = await waitUntilQuiet(choose, { quietSeconds, signal, onWait })
  if (!choice) return nothingNew(now())

  const { file, stats, more } = choice
  checkRegular(file, stats)
  const asOf = asOfFile(file, { ...source, now: now() })
  const version = choice.version ?? (await findVersion(file))
  if (version === null) throw unreadable(`${file.name} has gone`, 'put it back, or wait for the next export')
  const expected = await expectedOf(file, source.complete)
  if (expected) await checkChecksum(file, expected, signal)
  const { headers, rows, filterable, warnings, textBytes, cellBytes } = await openExport(file, source, {
    signal,
    secret: place.secret,
  })
  return {
    mode: source.mode,
    asOf,
    source: { name: file.name, bytes: file.bytes, version, ...(more ? { more } : {}) },
    headers,
    rows: expected ? checkRowCount(rows, { name: file.name, expected }) : rows,
    ...(filterable && !expected && { filterable }),
    warnings,
    textBytes,
    cellBytes,
  }
}

async function expectedOf(file: ExportFile, { sideFile }: Completeness): Promise<SideFileStatement | null> {
  if (!sideFile) return null
  const [companion] = await findCompanions(file, [sideFile.suffix])
  if (companion) return readSideFile(companion.file.path, { holds: sideFile.holds, exportName: file.name })
  throw unreadable(
    `${file.name} has no side file (${sideFile.suffix})`,
    'have it delivered with the export, or check complete.sideFile',
  )
}

function nothingNew(now: Date): Reading {
  return { mode: 'delta', asOf: now.toISOString(), source: null, headers: [], rows: noRows() }
}

async function* noRows() {}
