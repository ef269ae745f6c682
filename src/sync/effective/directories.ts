import { Failure } from '../../errors.ts'
import {
  type Account,
  type AccountFinding,
  compareAccounts,
  countContradictions,
  foldText,
  type StatedPerson,
} from '../../identity/effective/accounts.ts'
import {
  bringForward,
  type ClaimedComparison,
  claimComparison,
  comparisonOfDirectory,
  endComparison,
  holdsClaim,
  storeCoverage,
} from '../../store/effective/comparisons.ts'
import { type NewFinding, removeOfOthers, removeResolved, storeFindings } from '../../store/effective/findings.ts'
import { connectionsWithoutFacts, keysOfWaitingRows, statedPeople } from '../../store/effective/people.ts'
import type { Directory, SyncContext } from '../context/context.ts'
import { ageRefusal, digestOf, readAccounts } from './read-accounts.ts'

/** How long the reading of one list may take. */
const timeoutMs = 30 * 60_000
const claimMinutes = 35
/** When a list that could not be had, or that waits for HR, is read again. */
const retryMs = 15 * 60_000
/** When a list is read again after an error that is not in the list, such as a broken connection to the database, or a slow reading. */
const retryUnexpectedMs = 60 * 60_000
const storedAtOnce = 1000

type CompareOptions = {
  /** Compares now, also if it is not due. */
  readonly always: boolean
  readonly signal: AbortSignal
}

/** How a comparison with a list of accounts went. `failure`: why the list was refused. */
type DirectoryResult = { readonly findings: number; readonly failure: string | null }

/**
 * Compares every directory that is due, one after the other. A list that cannot be compared does not delay the others. Removes what is
 * stored of directories and connections that the configuration no longer has. Returns those that another process compares, or that are
 * not due.
 */
export async function compareDirectories(ctx: SyncContext, { always, signal }: CompareOptions): Promise<string[]> {
  const others: string[] = []
  const { directories = new Map<string, Directory>() } = ctx
  await removeOfOthers(ctx.store.db, [...ctx.connections.keys(), ...directories.keys()])
  for (const directory of directories.values()) {
    const nextAt = directory.nextAt(ctx.now())
    if (!always && nextAt === null) continue
    if (nextAt !== null) await bringForward(ctx.store.db, { compared: comparisonOfDirectory(directory.name), nextAt })
    try {
      if ((await compareDirectory(ctx, directory, { always, signal })) === null) others.push(directory.name)
    } catch (error) {
      ctx.events.unexpected({ during: `directory ${directory.name}`, error })
    }
  }
  return others
}

/**
 * Compares the accounts of a directory with the people of HR. Findings that it does not see again are removed, but not if the list is
 * refused. Null: it is not due, or another process does it.
 */
export async function compareDirectory(
  ctx: SyncContext,
  directory: Directory,
  { always, signal }: CompareOptions,
): Promise<DirectoryResult | null> {
  const { db } = ctx.store
  const compared = comparisonOfDirectory(directory.name)
  const now = ctx.now()
  const claimed = await claimComparison(db, { compared, always, now, claimMinutes })
  if (claimed === null) return null
  const claim = { compared, number: claimed.number }
  const nextAt = directory.nextAt(now) ?? now
  const limited = AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)])
  try {
    const done = await compare(ctx, directory, { claimed, signal: limited })
    if (done === null) return null
    await endComparison(db, {
      ...claim,
      nextAt,
      comparedAt: now,
      syncedAt: done.asOf,
      unreadable: done.unreadable,
      list: done.list,
      failure: null,
    })
    return { findings: done.findings, failure: null }
  } catch (error) {
    // The end of this process is no failure of the list.
    const failure = signal.aborted ? claimed.failure : failureOf(error, limited)
    const failedAt = { now, nextAt, isTimeout: limited.aborted }
    await endComparison(db, { ...claim, nextAt: signal.aborted ? now : nextAfter(error, failedAt), failure })
    if (!(error instanceof Failure) && !limited.aborted) throw error
    return { findings: 0, failure }
  }
}

function failureOf(error: unknown, limited: AbortSignal): string {
  if (error instanceof Failure) return error.message
  return limited.aborted ? 'the reading took too long' : 'of an unexpected error, which the log of the daemon has'
}

type FailedAt = { readonly now: Date; readonly nextAt: Date; readonly isTimeout: boolean }

/** When a failed comparison is tried again: soon if the reason may pass, at its next slot if the list itself was refused. */
function nextAfter(error: unknown, { now, nextAt, isTimeout }: FailedAt): Date {
  if (error instanceof Failure && (error.retry || error.code === 'conflict')) return new Date(now.getTime() + retryMs)
  const soon = new Date(now.getTime() + retryUnexpectedMs)
  const isOfList = error instanceof Failure && !isTimeout
  return isOfList || nextAt < soon ? nextAt : soon
}

type Work = { readonly claimed: ClaimedComparison; readonly signal: AbortSignal }

/** Compares and stores the result. Null: another process has begun a newer comparison, so that this one is dropped. */
async function compare(ctx: SyncContext, directory: Directory, { claimed, signal }: Work) {
  const { db } = ctx.store
  const { name } = directory
  const now = ctx.now()
  await refuseWithoutFacts(ctx)
  const { accounts, unreadable, asOf, list } = await readAccounts(directory, {
    now: ctx.now,
    signal,
    before: claimed.list,
  })
  const { findings } = await compareWithPeople(ctx, accounts, earlierOf(asOf, now))
  const stored = findings.map((finding) => toFinding(name, finding))
  const isStored = await db.transaction().execute(async (tx) => {
    if (!(await holdsClaim(tx, { compared: comparisonOfDirectory(name), number: claimed.number }))) return false
    for (let at = 0; at < stored.length; at += storedAtOnce)
      await storeFindings(tx, stored.slice(at, at + storedAtOnce), { comparison: claimed.number, at: now })
    await removeResolved(tx, { connections: [name], comparison: claimed.number })
    const wrong = findings.reduce((sum, { evidence, account }) => sum + (account ? (evidence.accounts ?? 1) : 0), 0)
    await storeCoverage(tx, [
      { connection: name, people: accounts.length, effective: accounts.length - wrong, at: now },
    ])
    return true
  })
  return isStored ? { findings: findings.length, unreadable, asOf, list } : null
}

type People = Pick<SyncContext, 'store' | 'connections'>

/** Refuses to compare before HR has stated anybody, when every account would seem to be of nobody. */
async function refuseWithoutFacts({ store: { db }, connections }: People): Promise<void> {
  const names = namesOfPeople(connections)
  const withSource = names.filter((name) => connections.get(name)?.feeds.source !== undefined)
  const waiting = names.length === 0 ? [] : await connectionsWithoutFacts(db, { connections: names, withSource })
  if (names.length > 0 && waiting.length === 0) return
  const reason =
    names.length === 0 ? 'no connection is of people' : `${waiting.join(', ')}: no export was accepted so far`
  throw new Failure('conflict', `accounts are compared with all people of HR, and ${reason}; run or approve it first`)
}

/** A file may be dated up to a day ahead, by its time zone; nobody has left tomorrow. */
function earlierOf(asOf: Date, now: Date): Date {
  return asOf < now ? asOf : now
}

/** More contradictions than these show that the number is not the key of HR. */
const contradictions = { count: 5, share: 0.2 }

function refuseContradictions(people: readonly StatedPerson[], accounts: readonly Account[]): void {
  const { contradicting, of } = countContradictions({ people, accounts })
  if (contradicting <= Math.max(contradictions.count, contradictions.share * of)) return
  throw new Failure(
    'source_unreadable',
    `in ${contradicting} of ${of} accounts, employeeNumber is the key of somebody else than the address: HR has other keys; set record.employeeNumber to null, or leave the column out of the file`,
  )
}

/** Compares accounts with everybody in HR. */
async function compareWithPeople(ctx: People, accounts: readonly Account[], at: Date) {
  const people = await peopleOf(ctx)
  refuseContradictions(people, accounts)
  const findings = await withWaitingRows(ctx, compareAccounts({ people, accounts, at }))
  return { people: people.length, findings }
}

/** Notes where HR has a row with the number or an address of an unknown account that is not accepted so far. */
async function withWaitingRows(
  { store: { db }, connections }: People,
  findings: readonly AccountFinding[],
): Promise<readonly AccountFinding[]> {
  const unknown = findings.flatMap(({ cause, account }) => (cause === 'account_unknown' && account ? [account] : []))
  const keys = unknown.flatMap(({ employeeNumber }) => (employeeNumber === null ? [] : [foldText(employeeNumber)]))
  const addresses = unknown.flatMap(addressesOf)
  const waiting = await keysOfWaitingRows(db, { connections: namesOfPeople(connections), keys, addresses })
  const waits = (account: Account) =>
    [foldText(account.employeeNumber ?? ''), ...addressesOf(account)].some((text) => waiting.has(text))
  return findings.map((finding) =>
    finding.cause === 'account_unknown' && finding.account && waits(finding.account)
      ? { ...finding, evidence: { ...finding.evidence, note: 'row_waits' } }
      : finding,
  )
}

function addressesOf({ login, emails }: Account): string[] {
  return [login ?? '', ...emails].map(foldText).filter((address) => address !== '')
}

function namesOfPeople(connections: SyncContext['connections']): string[] {
  return [...connections.values()].filter(({ records }) => !records).map(({ name }) => name)
}

/** Everybody whom the connections of people state. */
async function peopleOf({ store: { db }, connections }: People): Promise<StatedPerson[]> {
  const people: StatedPerson[] = []
  for await (const page of statedPeople(db, namesOfPeople(connections))) people.push(...page)
  return people
}

function toFinding(directory: string, { cause, person, account, evidence }: AccountFinding): NewFinding {
  const about = { connection: directory, cause, evidence, personId: null, canReset: false }
  if (person !== null) return { ...about, personConnection: person.connection, identityId: person.identityId }
  return { ...about, identityId: null, subject: subjectOf(account) }
}

function subjectOf(account: Account | null): string {
  return `account ${digestOf(account?.id ?? '')}`
}

type GivenList = {
  readonly directory: string
  readonly accounts: readonly Account[]
  readonly asOf: Date
  readonly now: Date
}

/** A finding of a list that nobody stores, and the name of its person as HR states it. */
type GivenFinding = NewFinding & {
  readonly personConnection: string
  readonly subject: string
  readonly name: string | null
}

/** Compares a list of accounts with the people of HR, and stores nothing. */
export async function compareGivenAccounts(
  ctx: People,
  { directory, accounts, asOf, now }: GivenList,
): Promise<{ readonly people: number; readonly findings: readonly GivenFinding[] }> {
  const refusal = ageRefusal(asOf, now)
  if (refusal !== null) throw new Failure('conflict', `${refusal}: compare a new one`)
  await refuseWithoutFacts(ctx)
  const compared = await compareWithPeople(ctx, accounts, earlierOf(asOf, now))
  const findings = compared.findings.map((finding): GivenFinding => {
    const { person, account } = finding
    const name = [person?.firstName, person?.lastName].filter((part) => part).join(' ')
    return {
      personConnection: directory,
      subject: person?.identityId ?? subjectOf(account),
      ...toFinding(directory, finding),
      name: name === '' ? null : name,
    }
  })
  return { people: compared.people, findings }
}
