import type { Connector, ConnectorContext, OpenOptions, Reading } from '../connector.ts'
import { openExport } from '../export/open-export.ts'
import { asOfFile } from '../file/as-of.ts'
import { type Completeness, waitUntilQuiet } from '../file/completeness.ts'
import { checkRegular, type ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { checkChecksum, checkRowCount, readSideFile, type SideFileStatement } from '../file/side-file.ts'
import { nothingNew } from '../nothing-new.ts'
import {
  type ChosenExport,
  createVersionFinder,
  type FindVersions,
  type Folder,
  findCompanions,
  findLastExport,
  findNewestExport,
  findNextExport,
  findVersion,
  resolveFolder,
} from './choice.ts'
import type { FolderSource } from './settings.ts'

/**
 * Reads exports from a folder of this machine. Opening the source reads the header, of JSON all records; the rows are streamed afterwards.
 * A file that changes meanwhile is refused.
 */
export function folderConnector(source: FolderSource, context: ConnectorContext): Connector {
  const folder = resolveFolder(source, context.baseDir)
  const findVersions = createVersionFinder()
  const connector: Connector = {
    open: (options) => openNext({ source, folder, findVersions, context }, options),
    archive: async (identity, decision) =>
      (await import('./archive.ts')).archiveExport(folder, { source: identity, decision }),
  }
  const { watch: by, pollSeconds } = source
  if (by === 'off') return connector
  return {
    ...connector,
    watch: async (events) => (await import('./watch.ts')).watchFolder(folder, { by, pollSeconds }, events),
  }
}

type OpenInput = {
  readonly source: FolderSource
  readonly folder: Folder
  readonly findVersions: FindVersions
  readonly context: ConnectorContext
}

async function openNext(input: OpenInput, options: OpenOptions): Promise<Reading> {
  const { source, context } = input
  const { now, signal } = options
  const chosen = await chooseQuiet(input, options)
  if (!chosen) return nothingNew(now())

  const { file, stats, more } = chosen
  checkRegular(file, stats)
  const asOf = asOfFile(file, { ...source, now: now() })
  const version = chosen.version ?? (await findVersion(file))
  if (version === null) throw unreadable(`${file.name} has gone`, 'put it back, or wait for the next export')
  const stated = await sideFileOf(file, source.complete)
  if (stated) await checkChecksum(file, stated, signal)
  const { rows, filterable, end, ...opened } = await openExport(file, source, { signal, secret: context.secret })
  const reading: Reading = {
    mode: source.mode,
    asOf,
    source: { name: file.name, bytes: file.bytes, version, ...(more ? { more } : {}), ...end },
    ...opened,
    rows: stated ? checkRowCount(rows, file.name, stated) : rows,
  }
  // The number of rows can only be checked if every row is read.
  return filterable && !stated ? { ...reading, filterable } : reading
}

async function chooseQuiet(
  { source, folder, findVersions }: OpenInput,
  { signal, findDecided, isNewest = false, onWait }: OpenOptions,
): Promise<ChosenExport | null> {
  const choose = async (): Promise<ChosenExport | null> => {
    if (source.take !== 'each') return await findNewestExport(folder)
    return isNewest ? await findLastExport(folder) : await findNextExport(folder, findDecided, findVersions)
  }
  const { marker, quietSeconds } = source.complete
  return await waitUntilQuiet(choose, { quietSeconds: marker === undefined ? quietSeconds : 0, signal, onWait })
}

async function sideFileOf(file: ExportFile, { sideFile }: Completeness): Promise<SideFileStatement | null> {
  if (!sideFile) return null
  const [companion] = await findCompanions(file, [sideFile.suffix])
  if (companion) return readSideFile(companion.file.path, { holds: sideFile.holds, exportName: file.name })
  throw unreadable(
    `${file.name} has no side file (${sideFile.suffix})`,
    'have it delivered with the export, or check complete.sideFile',
  )
}
