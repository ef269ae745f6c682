import { withExpressions } from '../../connectors/expressions/expressions.ts'
import { unreadable } from '../../connectors/file/failures.ts'
import type { Verdict } from '../../identity/change.ts'
import type { Account } from '../../identity/effective/accounts.ts'
import { checkLimit } from '../../identity/guards/check-limit.ts'
import { expressionsOf } from '../../identity/mapping/mapping.ts'
import { isReject } from '../../identity/mapping/rows.ts'
import type { Observation } from '../../identity/record.ts'
import type { Directory } from '../context/context.ts'
import { type MappedRow, mapRows } from '../plan/map/map-rows.ts'

/** A list of accounts older than this says too little about today. */
const maxAgeDays = 7
const dayMs = 24 * 60 * 60_000

/** Why a list of this time says too little about today; null if it does not. */
export function refusalOfAge(asOf: Date, now: Date): string | null {
  const ageDays = Math.floor((now.getTime() - asOf.getTime()) / dayMs)
  return ageDays >= maxAgeDays ? `the list is ${ageDays} days old` : null
}

/** The accounts of a list. `unreadable`: rows that could not be read, or with a cell that could not. */
export type AccountList = {
  readonly accounts: readonly Account[]
  readonly unreadable: number
  readonly asOf: Date
}

type ReadOptions = {
  readonly now: () => Date
  readonly signal: AbortSignal
  /** How many accounts the last accepted list had; null: there was none. */
  readonly accountsBefore: number | null
}

/**
 * Reads a list of accounts to its end. Throws `source_unreadable` for one that is cut, empty, old or much smaller than the last one, or of
 * which many rows cannot be read.
 */
export async function readAccounts(
  { name, feed, guards }: Directory,
  { now, signal, accountsBefore }: ReadOptions,
): Promise<AccountList> {
  const opened = await feed.connector.open({ now, signal, findDecided: async () => new Set() })
  try {
    const reading = withExpressions(opened, expressionsOf(feed.mapping))
    const mapping = mapRows(reading, feed, { now: now() })
    const byId = new Map<string, Account>()
    let [rows, unreadableRows] = [0, 0]
    for await (const slice of reading.rows) {
      signal.throwIfAborted()
      rows += slice.length
      for (const row of slice) {
        if (!mapping.ok) mapping.addRow(row)
        else if (!addAccount(byId, mapping.map(row))) unreadableRows += 1
      }
    }
    if (!mapping.ok)
      throw unreadable(
        `the list of ${name} lacks what is mapped: ${mapping.missing().join('; ')}`,
        'correct source.record',
      )
    const asOf = new Date(reading.asOf)
    const list = { accounts: [...byId.values()], unreadable: unreadableRows, asOf }
    refuseDoubtful(list, { rows, guards, accountsBefore, now: now() })
    return list
  } finally {
    await opened.close?.()
  }
}

/** Adds the account of a row. Of two rows with one ID, an enabled one counts. False: the row, or one of its cells, cannot be read. */
function addAccount(byId: Map<string, Account>, row: MappedRow): boolean {
  if (row === null || 'noPerson' in row || 'outOfScope' in row) return true
  if (isReject(row)) return false
  const account = toAccount(row)
  if (!byId.get(account.id)?.isEnabled) byId.set(account.id, account)
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
    emails: [text('email'), ...aliases].flatMap((email) => email?.replace(/^smtp:/i, '') ?? []),
    // A list that does not state it, or not readably, may hold enabled accounts only.
    isEnabled: fields['.enabled'] !== false,
    // Google writes the beginning of time for an account that nobody ever used.
    lastSignInAt: text('lastSignIn')?.startsWith('1970-01-01T00:00:00') ? null : text('lastSignIn'),
    employeeNumber: text('employeeNumber'),
    firstName: text('firstName'),
    lastName: text('lastName'),
  }
}

type Doubts = Pick<ReadOptions, 'accountsBefore'> & {
  readonly rows: number
  readonly guards: Directory['guards']
  readonly now: Date
}

function refuseDoubtful(
  { accounts, unreadable: unreadableRows, asOf }: AccountList,
  { rows, guards, accountsBefore, now }: Doubts,
): void {
  if (accounts.length === 0)
    throw unreadable('the list holds no account', 'check the source, its scope and its columns')
  const tooOld = refusalOfAge(asOf, now)
  if (tooOld !== null) throw unreadable(tooOld, 'have the directory write a new one, or check source.asOf')
  const bad = { actual: unreadableRows, base: rows, text: 'rows cannot be read, or hold a cell that cannot' }
  refuseBeyond(
    checkLimit('rejectedRows', guards.rejectedRows, bad),
    'correct source.record, or raise guards.rejectedRows',
  )
  const before = accountsBefore ?? 0
  const lost = {
    actual: Math.max(0, before - accounts.length),
    base: before,
    text: 'accounts of the last list are gone',
  }
  refuseBeyond(
    checkLimit('shrink', guards.shrink, lost),
    'the list may have been cut; if it is right, raise guards.shrink of the directory for one reading',
  )
}

function refuseBeyond({ ok, reason = '' }: Verdict, help: string): void {
  if (!ok) throw unreadable(reason, help)
}
