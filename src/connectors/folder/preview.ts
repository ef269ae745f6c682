import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, matchesGlob, resolve } from 'node:path'
import { pathFrom } from '../../system/path-from.ts'
import {
  type DiscoveryOptions,
  type ExportPreview,
  givenList,
  type NamedSource,
  recordsOption,
  type SourcePreview,
} from '../discovery.ts'
import { exportStart } from '../export/export-start.ts'
import { readHead } from '../file/decode/head.ts'
import { exportFileAt } from '../file/export-file.ts'
import { exportPattern } from '../file/names.ts'
import { findNewestExport, resolveFolder } from './choice.ts'
import { FolderSource } from './settings.ts'

/** The glob for a date in a name. It begins with a digit, so that people-archive.csv beside people-2026-10-31.csv does not match. */
const datePattern = '[0-9]*'
const dateInName = /\d{4}[-_.]?\d{2}[-_.]?\d{2}(?:[T_-]?\d{4,6}Z?)?/

/** Reads the beginning of the newest export of a file, a folder or a pattern. */
export async function previewFolder(
  { location, settings: given }: NamedSource,
  { workingDirectory, configFolder, signal }: DiscoveryOptions,
): Promise<SourcePreview> {
  const absolute = resolve(workingDirectory, location)
  const isFolder = await stat(absolute).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  const pattern = isFolder ? join(absolute, exportPattern(await readdir(absolute))) : absolute
  const settings = FolderSource.parse({ type: 'folder', path: pattern, mode: 'snapshot' })
  const { file } = await findNewestExport(resolveFolder(settings, workingDirectory))
  const head = await readHead(await exportFileAt(file.path), signal)
  const { settings: listSettings, ...start } = exportStart(head, {
    ...givenList(given),
    recordsHelp: recordsOption,
  })
  const path = isFolder ? pattern : withDatePattern(pattern)
  const isSingleFile = path === absolute && !/[*?[\]{}]/.test(basename(pattern))
  const laterExports = isSingleFile ? await guessLaterExports(absolute, configFolder) : null
  const type = head.isWorkbook || 'list' in start ? 'folder' : 'csv'
  return { ...start, source: { type, path: pathFrom(configFolder, path), ...listSettings }, laterExports }
}

function withDatePattern(path: string): string {
  const name = basename(path)
  return join(dirname(path), dateInName.test(name) ? name.replace(dateInName, datePattern) : name)
}

/** A pattern for the name of a file, also with a date or a number before its endings. */
async function guessLaterExports(path: string, configFolder: string): Promise<ExportPreview['laterExports']> {
  const [, stem = '', endings = ''] = /^(.[^.]*)(.*)$/s.exec(basename(path)) ?? []
  const pattern = `${stem}{,${datePattern},[-_. ]${datePattern}}${endings}`
  const names = await readdir(dirname(path))
  const matching = names.filter((name) => matchesGlob(name, pattern))
  return {
    path: pathFrom(configFolder, path),
    pattern: pathFrom(configFolder, join(dirname(path), pattern)),
    isAlone: matching.length === 1,
  }
}
