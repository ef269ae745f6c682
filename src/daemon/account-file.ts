import { basename, dirname, extname, resolve } from 'node:path'
import { unreadable } from '../connectors/file/failures.ts'
import { requireConnectorKind } from '../connectors/registry/registry.ts'
import { mapAccountColumns } from '../identity/effective/account-columns.ts'
import type { Account } from '../identity/effective/accounts.ts'
import { Guards } from '../identity/guards/limits.ts'
import { Mapping } from '../identity/mapping/mapping.ts'
import { readAccounts } from '../sync/sync.ts'

type FileOptions = { readonly now: () => Date; readonly signal: AbortSignal }

/**
 * Reads an export of accounts whose columns have the names that directories use, bounded for the operation that compares them. Throws
 * `source_unreadable` with what is missing.
 */
export async function readAccountFile(path: string, { now, signal }: FileOptions) {
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
  const list = await readAccounts(directory, { now, signal, before: null })
  return { ...list, accounts: list.accounts.map(boundAccount) }
}

const maxText = 1000
const maxAddresses = 100

/** An account without what the operation refuses: longer texts are no logins and no addresses. */
function boundAccount({ login, emails, lastSignInAt, employeeNumber, firstName, lastName, ...account }: Account) {
  const cut = (text: string | null) => text?.slice(0, maxText) ?? null
  return {
    ...account,
    login: cut(login),
    emails: emails.filter(({ length }) => length <= maxText).slice(0, maxAddresses),
    lastSignInAt: cut(lastSignInAt),
    employeeNumber: cut(employeeNumber),
    firstName: cut(firstName),
    lastName: cut(lastName),
  }
}
