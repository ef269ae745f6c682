import type { Connector, ConnectorContext, OpenOptions, Reading } from '../connector.ts'
import { openExport } from '../csv/open-export.ts'
import { asOfFile } from '../file/as-of.ts'
import { type Completeness, whenQuiet } from '../file/completeness.ts'
import { checkRegular, type ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { checkSum, countedRows, type Expected, readSideFile } from '../file/side-file.ts'
import {
  type Choice,
  companionsOf,
  type FindVersions,
  type Folder,
  folderOf,
  newestExport,
  nextExport,
  rememberVersions,
  versionIfThere,
} from './choice.ts'
import type { CsvSource } from './settings.ts'

/**
 * Reads CSV exports from a folder of this machine. Opening the source reads the header, and the rows are streamed afterwards. A file
 * that changes meanwhile is refused.
 */
export function csvConnector(source: CsvSource, place: ConnectorContext): Connector {
  const folder = folderOf(source, place.baseDir)
  const findVersions = rememberVersions()
  const { watch: by, pollSeconds } = source
  return {
    open: (options) => openNext(source, { folder, findVersions, place, options }),
    closeReading: async (identity, decision) => (await import('./settle.ts')).settleExport(folder, identity, decision),
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

async function openNext(source: CsvSource, { folder, findVersions, place, options }: Opening): Promise<Reading> {
  const { now, signal, taken, waiting } = options
  const choose = (): Promise<Choice | null> =>
    source.take === 'each' ? nextExport(folder, taken, findVersions) : newestExport(folder)
  const quietSeconds = source.complete.marker === undefined ? source.complete.quietSeconds : 0
  const choice = await whenQuiet(choose, { quietSeconds, signal, waiting })
  if (!choice) return nothingNew(now())

  const { file, stats, more } = choice
  checkRegular(file, stats)
  const asOf = asOfFile(file, { ...source, now: now() })
  const version = choice.version ?? (await versionIfThere(file))
  if (version === null) throw unreadable(`${file.name} has gone`, 'put it back, or wait for the next export')
  const expected = await expectedOf(file, source.complete)
  if (expected) await checkSum(file, expected, signal)
  const { headers, rows, filtered, warnings, textBytes, cellBytes } = await openExport(file, source, {
    signal,
    secret: place.secret,
  })
  return {
    mode: source.mode,
    asOf,
    source: { name: file.name, bytes: file.bytes, version, ...(more ? { more } : {}) },
    headers,
    rows: expected ? countedRows(rows, { name: file.name, expected }) : rows,
    ...(filtered && !expected && { filtered }),
    warnings,
    textBytes,
    cellBytes,
  }
}

async function expectedOf(file: ExportFile, { sideFile }: Completeness): Promise<Expected | null> {
  if (!sideFile) return null
  const [companion] = await companionsOf(file, [sideFile.suffix])
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
