import { createHash } from 'node:crypto'
import { withExpressions } from '../../connectors/expressions/expressions.ts'
import { unreadable } from '../../connectors/file/failures.ts'
import type { Verdict } from '../../identity/change.ts'
import type { AcceptedList, Account } from '../../identity/effective/accounts.ts'
import { checkLimit } from '../../identity/guards/check-limit.ts'
import { expressionsOf } from '../../identity/mapping/mapping.ts'
import { isReject } from '../../identity/mapping/rows.ts'
import type { Observation } from '../../identity/record.ts'
import type { Directory } from '../context/context.ts'
import { type MappedRow, mapRows } from '../plan/map/map-rows.ts'

/** Maximum age of a list of accounts. */
const maxAgeDays = 7
const dayMs = 24 * 60 * 60_000

/** Why a list of this time is too old; null if it is not. */
export function ageRefusal(asOf: Date, now: Date): string | null {
  const ageDays = Math.floor((now.getTime() - asOf.getTime()) / dayMs)
  return ageDays >= maxAgeDays ? `the list is ${ageDays} days old` : null
}

/** The accounts of a list. `unreadable`: rows that could not be read, or with a cell that could not. */
export type AccountList = {
  readonly accounts: readonly Account[]
  readonly unreadable: number
  readonly asOf: Date
  /** What the next list is compared with, so that a list that was cut is recognised. */
  readonly list: AcceptedList
}

type ReadOptions = {
  readonly now: () => Date
  readonly signal: AbortSignal
  /** The last accepted list; null: there was none. */
  readonly before: AcceptedList | null
}

/**
 * Reads a list of accounts to its end. Throws `source_unreadable` if it is cut, empty or too old, lacks a column of the last accepted list, is
 * much smaller, or has many unreadable rows.
 */
export async function readAccounts(
  { name, feed, guards }: Directory,
  { now, signal, before }: ReadOptions,
): Promise<AccountList> {
  const opened = await feed.connector.open({ now, signal, findDecided: async () => new Set() })
  try {
    const reading = withExpressions(opened, expressionsOf(feed.mapping))
    const mapping = mapRows(reading, feed, { now: now() })
    const byId = new Map<string, Account>()
    const listed = new Set<string>()
    const values = new Map<string, number>()
    let [rows, unreadableRows] = [0, 0]
    for await (const slice of reading.rows) {
      signal.throwIfAborted()
      rows += slice.length
      for (const row of slice) {
        if (!mapping.ok) {
          mapping.addRow(row)
          continue
        }
        const mapped = mapping.map(row)
        if (!addAccount(byId, mapped)) unreadableRows += 1
        const id = listedId(mapped)
        if (id !== null) listed.add(digestOf(id))
        for (const column of filledColumns(mapped)) values.set(column, (values.get(column) ?? 0) + 1)
      }
    }
    const missing = mapping.ok ? mapping.lacking : mapping.missing()
    if (!mapping.ok || missing.length > 0)
      throw unreadable(`the list of ${name} lacks what is mapped: ${missing.join('; ')}`, 'correct source.record')
    const accounts = [...byId.values()]
    const list = {
      accounts: accounts.length,
      columns: decidingColumns.filter((column) => mapping.columns[column] !== undefined),
      filled: decidingColumns.filter((column) => (values.get(column) ?? 0) >= minFilled),
      lastAccounts: accounts.slice(-maxLastAccounts).map(({ id }) => digestOf(id)),
      scope: digestOf(feed.mapping.scope ?? ''),
    }
    const read = { accounts, unreadable: unreadableRows, asOf: new Date(reading.asOf), list }
    refuseDoubtful(read, { rows, guards, now: now() })
    refuseLost(read, { before, feed, guards, listed, values })
    return read
  } finally {
    await opened.close?.()
  }
}

/** The properties that decide who owns an account, and whether it is enabled. */
const decidingColumns = ['.login', '.email', '.aliases', '.enabled', '.employeeNumber'] as const

/** A property that this many accounts had, and that no account has now, was lost: the reading account may lack the permission for it. */
const minFilled = 5

/** A list that lacks all of the last accounts of the one before is refused as cut off: five accounts at the end are rarely removed on one day. */
const maxLastAccounts = 5

/** A digest of the ID of an account, which may be an address. */
export function digestOf(id: string): string {
  return createHash('sha256').update(id).digest('hex').slice(0, 16)
}

/** The ID of the account in a row, also if it is out of scope. */
function listedId(row: MappedRow): string | null {
  if (row === null || 'noPerson' in row) return null
  return !('outOfScope' in row) && isReject(row) ? null : row.identityId
}

/** The deciding properties for which a row has a value. The separators of joined columns alone are no value. */
function filledColumns(row: MappedRow): readonly string[] {
  if (row === null || 'noPerson' in row || 'outOfScope' in row || isReject(row)) return []
  return decidingColumns.filter((column) => /[^\s;,"[\]]/.test(String(row.fields[column] ?? '')))
}

/** Adds the account of a row. Of two rows with one ID, an enabled one is used, with the addresses of both. False: the row, or one of its cells, cannot be read. */
function addAccount(byId: Map<string, Account>, row: MappedRow): boolean {
  if (row === null || 'noPerson' in row || 'outOfScope' in row) return true
  if (isReject(row)) return false
  const account = toAccount(row)
  const known = byId.get(account.id)
  const used = known?.isEnabled ? known : account
  byId.set(account.id, { ...used, emails: [...new Set([...used.emails, ...(known?.emails ?? []), ...account.emails])] })
  return row.badCells === undefined
}

function toAccount({ identityId, fields }: Observation): Account {
  const text = (name: string): string | null => {
    const value = fields[`.${name}`]
    return typeof value === 'string' && value !== '' ? value : null
  }
  const aliases: readonly string[] = JSON.parse(text('aliases') ?? '[]')
  return {
    id: identityId,
    login: text('login'),
    emails: [text('email') ?? '', ...aliases].flatMap(addressesIn),
    // Enabled unless the row says otherwise: some lists hold only enabled accounts, without a column for it.
    isEnabled: fields['.enabled'] !== false,
    // Google writes the beginning of time for an account that nobody ever used.
    lastSignInAt: text('lastSignIn')?.startsWith('1970-01-01T00:00:00') ? null : text('lastSignIn'),
    employeeNumber: text('employeeNumber'),
    firstName: text('firstName'),
    lastName: text('lastName'),
  }
}

/** The addresses in a text, whatever separates them. Active Directory also lists those for telephony and of other systems. */
function addressesIn(text: string): string[] {
  return text
    .split(/[;,\s]+/)
    .map((address) => address.replace(/^smtp:/i, ''))
    .filter((address) => address !== '' && !/^(sip|x\d00):/i.test(address))
}

type Doubts = { readonly rows: number; readonly guards: Directory['guards']; readonly now: Date }

function refuseDoubtful(
  { accounts, unreadable: unreadableRows, asOf }: AccountList,
  { rows, guards, now }: Doubts,
): void {
  if (accounts.length === 0)
    throw unreadable('the list holds no account', 'check the source, its scope and its columns')
  const tooOld = ageRefusal(asOf, now)
  if (tooOld !== null) throw unreadable(tooOld, 'have the directory write a new one, or check source.asOf')
  const bad = { actual: unreadableRows, base: rows, text: 'rows cannot be read, or hold a cell that cannot' }
  refuseFailed(
    checkLimit('rejectedRows', guards.rejectedRows, bad),
    'correct source.record, or raise guards.rejectedRows',
  )
}

/** The digests of the IDs in a list, also of accounts out of scope, and how many accounts have a value of each property. */
type ListSummary = { readonly listed: ReadonlySet<string>; readonly values: ReadonlyMap<string, number> }

/** Refuses a list that lacks a column, all values of a column, many accounts, or the last accounts of the list before. */
function refuseLost(
  { accounts, list }: AccountList,
  {
    before,
    feed,
    guards,
    listed,
    values,
  }: Pick<ReadOptions, 'before'> & Pick<Directory, 'feed' | 'guards'> & ListSummary,
): void {
  if (before === null) return
  const mapped = Object.keys(feed.mapping.record ?? {})
  const lost = before.columns.map((column) => column.slice(1)).filter((name) => mapped.includes(name))
  const lostColumns = lost.filter((name) => !list.columns.some((column) => column === `.${name}`))
  if (lostColumns.length > 0)
    throw unreadable(
      `the last list had a column for ${lostColumns.join(', ')}, and this one has none`,
      'correct source, or set the property to null under source.record',
    )
  const emptied = (before.filled ?? [])
    .filter((column) => !values.has(column))
    .map((column) => column.slice(1))
    .filter((name) => mapped.includes(name))
  if (emptied.length > 0)
    throw unreadable(
      `in the last list accounts had ${emptied.join(', ')}, and in this one none has`,
      'check what the source may read, or set the property to null under source.record',
    )
  // If the scope has changed, accounts that are now out of scope still count as listed.
  const digests = before.scope === list.scope ? new Set(accounts.map(({ id }) => digestOf(id))) : listed
  const missing = {
    actual: Math.max(0, before.accounts - digests.size),
    base: before.accounts,
    text: 'accounts of the last list are gone',
  }
  refuseFailed(
    checkLimit('shrink', guards.shrink, missing),
    'the list may have been cut; if it is right, raise guards.shrink of the directory for one reading',
  )
  if (
    guards.shrink.share < 1 &&
    before.lastAccounts.length === maxLastAccounts &&
    !before.lastAccounts.some((one) => digests.has(one))
  )
    throw unreadable(
      `the last ${maxLastAccounts} accounts of the last list are gone: the list may have been cut`,
      'if it is right, set guards.shrink.share of the directory to 1 for one reading',
    )
}

function refuseFailed({ ok, reason = '' }: Verdict, help: string): void {
  if (!ok) throw unreadable(reason, help)
}
