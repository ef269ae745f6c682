import { readdir, stat } from 'node:fs/promises'
import { basename, dirname, join, matchesGlob, resolve } from 'node:path'
import { pathFrom } from '../../system/path-from.ts'
import type { ExportPreview, DiscoveryOptions, NamedSource } from '../discovery.ts'
import { headOf } from '../file/decode/head.ts'
import { exportFileAt } from '../file/export-file.ts'
import { folderOf, newestExport } from './choice.ts'
import { CsvSource } from './settings.ts'

/** What stands in place of a date: people-archive.csv beside people-2026-10-31.csv is no export. */
const dated = '[0-9]*'
const datedName = /\d{4}[-_.]?\d{2}[-_.]?\d{2}(?:[T_-]?\d{4,6}Z?)?/

/** Looks at the newest export of a file, a folder or a pattern. */
export async function lookAtFolder(
  { at }: NamedSource,
  { workingDirectory, folder, signal }: DiscoveryOptions,
): Promise<ExportPreview> {
  const whole = resolve(workingDirectory, at)
  const isFolder = await stat(whole).then(
    (stats) => stats.isDirectory(),
    () => false,
  )
  const pattern = isFolder ? join(whole, '*.csv') : whole
  const settings = CsvSource.parse({ type: 'csv', path: pattern, mode: 'snapshot' })
  const { file } = await newestExport(folderOf(settings, workingDirectory))
  const exported = await exportFileAt(file.path)
  const name = basename(pattern)
  const path = isFolder ? pattern : join(dirname(pattern), datedName.test(name) ? name.replace(datedName, dated) : name)
  const later = path === whole && !/[*?[\]{}]/.test(name) ? await laterExports(whole, folder) : null
  return { head: await headOf(exported, signal), source: { type: 'csv', path: pathFrom(folder, path) }, later }
}

/** The name of a file, or the same with a date or a number before its endings. What else has such a name is no export. */
async function laterExports(path: string, folder: string): Promise<ExportPreview['later']> {
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
