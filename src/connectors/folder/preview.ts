import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, matchesGlob, resolve } from 'node:path'
import { pathFrom } from '../../system/path-from.ts'
import type { ExportPreview, DiscoveryOptions, NamedSource } from '../discovery.ts'
import { readHead } from '../file/decode/head.ts'
import { exportFileAt } from '../file/export-file.ts'
import { resolveFolder, findNewestExport } from './choice.ts'
import { FolderSource } from './settings.ts'

/** What stands in place of a date: people-archive.csv beside people-2026-10-31.csv is no export. */
const dated = '[0-9]*'
const datedName = /\d{4}[-_.]?\d{2}[-_.]?\d{2}(?:[T_-]?\d{4,6}Z?)?/

/** Looks at the newest export of a file, a folder or a pattern. */
export async function previewFolder(
  { location: at }: NamedSource,
  { workingDirectory, configFolder: folder, signal }: DiscoveryOptions,
): Promise<ExportPreview> {
  const whole = resolve(workingDirectory, at)
  const isFolder = await stat(whole).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  const pattern = isFolder ? join(whole, '*.csv') : whole
  const settings = FolderSource.parse({ type: 'csv', path: pattern, mode: 'snapshot' })
  const { file } = await findNewestExport(resolveFolder(settings, workingDirectory))
  const exported = await exportFileAt(file.path)
  const name = basename(pattern)
  const path = isFolder ? pattern : join(dirname(pattern), datedName.test(name) ? name.replace(datedName, dated) : name)
  const later = path === whole && !/[*?[\]{}]/.test(name) ? await laterExports(whole, folder) : null
  return {
    head: await readHead(exported, signal),
    source: { type: 'csv', path: pathFrom(folder, path) },
    laterExports: later,
  }
}

/** The name of a file, or the same with a date or a number before its endings. What else has such a name is no export. */
async function laterExports(path: string, folder: string): Promise<ExportPreview['laterExports']> {
  const [, stem = '', endings = ''] = /^(.[^.]*)(.*)$/s.exec(basename(path)) ?? []
  const pattern = `${stem}{,${dated},[-_. ]${dated}}${endings}`
  const beside = await readdir(dirname(path))
  const matching = beside.filter((name) => matchesGlob(name, pattern))
  return {
    path: pathFrom(folder, path),
    pattern: pathFrom(folder, join(dirname(path), pattern)),
    isAlone: matching.length === 1,
  }
}
