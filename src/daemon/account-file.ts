import { basename, dirname, extname, resolve } from 'node:path'
import { unreadable } from '../connectors/file/failures.ts'
import { requireConnectorKind } from '../connectors/registry/registry.ts'
import { mapAccountColumns } from '../identity/effective/account-columns.ts'
import { Guards } from '../identity/guards/limits.ts'
import { Mapping } from '../identity/mapping/mapping.ts'
import { type AccountList, readAccounts } from '../sync/sync.ts'

type FileOptions = { readonly now: () => Date; readonly signal: AbortSignal }

/** Reads an export of accounts whose columns have the names that directories use. Throws `source_unreadable` with what is missing. */
export async function readAccountFile(path: string, { now, signal }: FileOptions): Promise<AccountList> {
  const kind = requireConnectorKind('csv')
  const form = extname(path).toLowerCase() === '.xlsx' ? { format: 'xlsx' } : { format: 'csv', delimiter: 'auto' }
  const settings = kind.settings.parse({ type: 'folder', path: resolve(path), mode: 'snapshot', ...form })
  const context = { baseDir: dirname(resolve(path)), spoolDir: dirname(resolve(path)), secret: () => null }
  const connector = kind.connect(settings, context)
  const opened = await connector.open({ now, signal, findDecided: async () => new Set() })
  await opened.close?.()
  const columns = mapAccountColumns(opened.headers)
  if (typeof columns === 'string')
    throw unreadable(
      `${basename(path)}: ${columns}`,
      'rename the column, or set the list up as a directory with source.record',
    )
  const feed = {
    ...{ connector, mapping: Mapping.parse(columns), traps: [], timeZone: 'UTC' },
    ...({ absence: 'ignore', graceRuns: 1, future: 'defer' } as const),
  }
  const directory = { name: basename(path), feed, guards: Guards.parse({}), nextAt: () => null }
  return await readAccounts(directory, { now, signal, before: null })
}
