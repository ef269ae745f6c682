import type { ConnectorContext, Reading } from '../connector.ts'
import { openExport } from '../export/open-export.ts'
import { companionNames } from '../file/completeness.ts'
import type { ExportFile } from '../file/export-file.ts'
import { unreadable } from '../file/failures.ts'
import { checkChecksum, checkRowCount, type SideFileStatement } from '../file/side-file.ts'
import type { LocalCopy } from './spool.ts'

/** An export that was fetched from a server. */
export type FetchedExport = {
  /** The file on the server. */
  readonly file: ExportFile
  /** The copy on this machine. */
  readonly local: LocalCopy
  /** The as-of time of its rows, an ISO instant. */
  readonly asOf: string
  /** More new exports wait to be read after this one. */
  readonly more: boolean
  /** What its side file says; null if none is configured. */
  readonly stated: SideFileStatement | null
}

/** The settings by which a fetched export is read. */
export type ExportSettings = Parameters<typeof openExport>[1] & Pick<Reading, 'mode'>

type ReadOptions = { readonly signal: AbortSignal; readonly secret: ConnectorContext['secret'] }

/** Reads a fetched export from its copy, which is removed when the reading is closed, or now if it cannot be read. */
export async function readFetched(
  { file: { name, bytes, version }, local, asOf, more, stated }: FetchedExport,
  source: ExportSettings,
  options: ReadOptions,
): Promise<Reading> {
  const read = async (): Promise<Reading> => {
    const { filterable: _, end, ...opened } = await openExport(local, source, options)
    const rows = stated ? checkRowCount(opened.rows, name, stated) : opened.rows
    const identity = { name, bytes, version, ...(more ? { more } : {}), ...end }
    return { mode: source.mode, asOf, source: identity, ...opened, rows }
  }
  const close = () => local.remove()
  try {
    if (stated) await checkChecksum(local, stated, options.signal)
    return { ...(await read()), reopen: read, close }
  } catch (error) {
    await close()
    throw error
  }
}

type SideFileOptions = { readonly exportName: string; readonly suffix: string; readonly server: string }

/** The side file of an export, and its name. Throws if it did not arrive. */
export function requireSideFile<Companion>(
  companions: ReadonlyMap<string, Companion>,
  { exportName, suffix, server }: SideFileOptions,
): { readonly name: string; readonly companion: Companion } {
  const names = companionNames(exportName, suffix)
  for (const name of names) {
    const companion = companions.get(name)
    if (companion !== undefined) return { name, companion }
  }
  const problem = `${exportName} on ${server} has no side file ${names.join(' or ')}`
  throw unreadable(problem, 'have it delivered with the export, or leave complete.sideFile out')
}
