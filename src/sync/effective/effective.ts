import { WalkInterrupted } from '../../http/client/walk.ts'
import { isShownOtherwise, type LastSync } from '../../identity/effective/cause.ts'
import { connectionNames } from '../../store/connections/connections.ts'
import {
  type ClaimedComparison,
  type Coverage,
  claimComparison,
  endComparison,
  holdsClaim,
  storeCoverage,
} from '../../store/effective/comparisons.ts'
import { type NewFinding, removeResolved, storeFindings } from '../../store/effective/findings.ts'
import type { SyncContext } from '../context/context.ts'
import { classifyRefusal } from '../rate-limit/classify-answers.ts'
import type { Endpoint } from '../target/endpoint.ts'
import { openEndpoint } from '../target/target.ts'
import { compareEveryone, defaultMaxLookUps } from './compare.ts'
import { readLastSync } from './details.ts'
import { type ComparedConnection, type RosterBook, readRosterBook } from './roster-book.ts'
import { shownPeople } from './shown.ts'

/** How often the events of the platform are read for a new identity sync. */
const pollMs = 15 * 60_000
/** After this time everybody is compared, also if no new identity sync is known. */
const maxAgeMs = 24 * 60 * 60_000
/** The search of the platform may be some seconds old, so that a comparison right after an identity sync would see the people of before. */
const minSyncAgeMs = 60_000
/** How long one comparison may take: 100,000 people are 200 pages, and a page may take five seconds. */
const timeoutMs = 20 * 60_000
const claimMinutes = 25
const storedAtOnce = 1000

type CompareOptions = {
  /** Compares now, also if no identity sync has run since the last comparison. */
  readonly always: boolean
  readonly signal: AbortSignal
  /** People on a page of the platform, and of the roster. */
  readonly pageSize?: number
  readonly maxLookUps?: number
}

/** How a comparison went. */
export type ComparisonResult = { readonly findings: number; readonly requests: number; readonly failure: string | null }

/**
 * Compares what the platform shows of everybody with what HR's delivered facts imply, after each identity sync of the platform, at least
 * once a day. Reads only, with low priority. Findings that it does not see again are removed, but not if it could not read to the end.
 * Null: it is not due, or another process does it.
 */
export async function compareEffective(ctx: SyncContext, options: CompareOptions): Promise<ComparisonResult | null> {
  const { db } = ctx.store
  const platform = ctx.platform.baseUrl
  const now = ctx.now()
  const claimed = await claimComparison(db, { compared: platform, always: options.always, now, claimMinutes })
  if (claimed === null) return null
  const endpoint = everybodyEndpoint(ctx, options.signal)
  const claim = { compared: platform, number: claimed.number }
  const nextAt = new Date(now.getTime() + pollMs)
  try {
    const lastSync = await readLastSync(endpoint)
    if (!options.always && !isDue(claimed, lastSync, now)) {
      await endComparison(db, { ...claim, nextAt, failure: claimed.failure })
      return null
    }
    const compared = await compare(ctx, { ...options, endpoint, lastSync, claimed, now })
    if (compared === null) return null
    const syncedAt = lastSync instanceof Date ? lastSync : null
    const { requests } = compared
    await endComparison(db, {
      ...{ ...claim, nextAt, failure: null, requests },
      // Without a connection there is nobody to compare.
      ...(compared.isCompared && { comparedAt: now, syncedAt }),
    })
    return { findings: compared.findings, requests, failure: null }
  } catch (error) {
    // The end of this process is no failure of the comparison.
    const failure = options.signal.aborted ? claimed.failure : failureOf(error, endpoint)
    await endComparison(db, { ...claim, nextAt, failure, requests: endpoint.requests })
    if (!(error instanceof WalkInterrupted) && !endpoint.signal.aborted) throw error
    return { findings: 0, requests: endpoint.requests, failure }
  }
}

function everybodyEndpoint({ platform }: SyncContext, signal: AbortSignal): Endpoint {
  return {
    platform: { ...platform, rateLimiter: platform.rateLimiter.lowPriority },
    connectionId: 0,
    records: null,
    requests: 0,
    signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
  }
}

function isDue({ comparedAt, syncedAt }: ClaimedComparison, lastSync: LastSync, now: Date): boolean {
  if (lastSync instanceof Date && Math.abs(now.getTime() - lastSync.getTime()) < minSyncAgeMs) return false
  if (comparedAt === null || now.getTime() - comparedAt.getTime() >= maxAgeMs) return true
  return lastSync instanceof Date && lastSync.getTime() !== syncedAt?.getTime()
}

function failureOf(error: unknown, { signal }: Endpoint): string {
  if (error instanceof WalkInterrupted) return classifyRefusal(error.answer).code
  return signal.aborted ? 'timed_out' : 'failed'
}

type Work = CompareOptions & {
  readonly endpoint: Endpoint
  readonly lastSync: LastSync
  readonly claimed: ClaimedComparison
  readonly now: Date
}

/** `isCompared`: there is a connection of people. */
type ComparisonCounts = { readonly findings: number; readonly requests: number; readonly isCompared: boolean }

/** Compares and stores the result. Null: another process has begun a newer comparison, so that this one is dropped. */
async function compare(ctx: SyncContext, work: Work): Promise<ComparisonCounts | null> {
  const { endpoint, lastSync, claimed, now, pageSize, maxLookUps = defaultMaxLookUps } = work
  const { db } = ctx.store
  const connections = await openConnections(ctx, endpoint)
  if (connections.length === 0) return { findings: 0, requests: endpoint.requests, isCompared: false }
  const book = await readRosterBook(db, { connections, ...(pageSize !== undefined && { pageSize }) })
  const { number } = claimed
  const comparison = { db, endpoint, connections, lastSync, maxLookUps, number, now }
  const findings = await compareEveryone(comparison, book, shownPeople(endpoint, pageSize))
  const names = connections.map(({ name }) => name)
  const isStored = await db.transaction().execute(async (tx) => {
    if (!(await holdsClaim(tx, { compared: ctx.platform.baseUrl, number: claimed.number }))) return false
    for (let at = 0; at < findings.length; at += storedAtOnce)
      await storeFindings(tx, findings.slice(at, at + storedAtOnce), { comparison: claimed.number, at: now })
    await removeResolved(tx, { connections: names, comparison: claimed.number })
    await storeCoverage(tx, coverageOf(book, findings, now))
    return true
  })
  if (!isStored) return null
  const requests = connections.reduce((sum, each) => sum + each.endpoint.requests, endpoint.requests)
  return { findings: findings.length, requests, isCompared: true }
}

/** The connections of people that exist on the platform. One that cannot be opened is left as it was. */
async function openConnections(ctx: SyncContext, { platform, signal }: Endpoint): Promise<ComparedConnection[]> {
  const opened: ComparedConnection[] = []
  // One that has never run states nobody, and has no place in the store yet.
  const begun = new Set(await connectionNames(ctx.store.db))
  for (const connection of ctx.connections.values()) {
    if (connection.records || !begun.has(connection.name)) continue
    const endpoint = await openEndpoint({ ...ctx, platform }, connection, signal)
    if (!('kind' in endpoint) && !endpoint.isMissing) opened.push({ name: connection.name, endpoint })
  }
  return opened
}

function coverageOf({ people }: RosterBook, findings: readonly NewFinding[], at: Date): Coverage[] {
  return [...people].map(([connection, count]) => {
    const keys = findings
      .filter((each) => each.connection === connection && isShownOtherwise(each))
      .flatMap(({ identityId }) => identityId ?? [])
    return { connection, people: count, effective: count - new Set(keys).size, at }
  })
}
