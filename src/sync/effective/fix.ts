import { Failure } from '../../errors.ts'
import { recordAuditEntries } from '../../store/audit/trail.ts'
import { listFindings, type StoredFinding } from '../../store/effective/findings.ts'
import { rosterEntries } from '../../store/roster/roster.ts'
import { requireConnection, type SyncContext } from '../context/context.ts'
import { classifyAnswer } from '../rate-limit/classify-answers.ts'

type Fix = {
  /** Undefined: in every connection. */
  readonly connection?: string
  /** Keys, or `person NUMBER` for people whom no connection states. */
  readonly keys: readonly string[]
  readonly reason: string
  readonly by: string
  readonly signal: AbortSignal
}

/** The keys whose sync was reset, and how many people the platform says it concerned. */
type FixResult = { readonly keys: string[]; readonly reset: number }

/**
 * Asks the platform to let its identity sync update these people again who were edited there by hand. Every key must have a finding that a
 * reset fixes, else nothing is done.
 */
export async function fixEffective(
  ctx: SyncContext,
  { connection, keys, reason, by, signal }: Fix,
): Promise<FixResult> {
  if (connection !== undefined) requireConnection(ctx, connection)
  const { db } = ctx.store
  const connections = connection === undefined ? [...ctx.connections.keys()] : [connection]
  const findings = await listFindings(db, { connections, keys, limit: 10_000 })
  const fixable = findings.filter(({ canReset, personId }) => canReset && personId !== null)
  requireFixable(keys, { findings, fixable })
  if (connection === undefined) await requireOneConnection(ctx, keys, findings)
  await db.transaction().execute(async (tx) => {
    const details = { reason }
    const entries = fixable.map(({ connection: name, subject }) => ({
      ...{ act: 'sync_reset.requested' as const, connection: name, identityId: subject, by, details, now: ctx.now() },
    }))
    await recordAuditEntries(tx, entries)
  })
  const personnelIds = [...new Set(fixable.flatMap(({ personId }) => personId ?? []))]
  const reset = await resetSync(ctx, personnelIds, signal)
  return { keys: [...new Set(fixable.map(({ subject }) => subject))], reset }
}

type Findings = { readonly findings: readonly StoredFinding[]; readonly fixable: readonly StoredFinding[] }

function requireFixable(keys: readonly string[], { findings, fixable }: Findings): void {
  const known = new Set(findings.map(({ subject }) => subject))
  const unknown = keys.filter((key) => !known.has(key))
  if (unknown.length > 0)
    throw new Failure('not_found', `there is no finding about ${unknown.join(', ')}; rollcall effective lists them`)
  const can = new Set(fixable.map(({ subject }) => subject))
  const others = keys.filter((key) => !can.has(key))
  if (others.length > 0)
    throw new Failure(
      'conflict',
      `a reset of the sync does not help ${others.join(', ')}, because nobody edited them by hand; rollcall effective says what helps`,
    )
}

/** A key may be that of other people in other connections, also of people without a finding or whom a reset does not help. */
async function requireOneConnection(
  { store: { db }, connections }: SyncContext,
  keys: readonly string[],
  findings: readonly StoredFinding[],
): Promise<void> {
  const names = new Map(keys.map((key) => [key, new Set<string>()]))
  for (const { connection, subject } of findings) names.get(subject)?.add(connection)
  for (const { name, records } of connections.values()) {
    if (records) continue
    const entries = await rosterEntries(db, { connection: name, identityIds: keys })
    for (const [key, { desired }] of entries) if (desired !== null) names.get(key)?.add(name)
  }
  for (const [key, stated] of names)
    if (stated.size > 1)
      throw new Failure(
        'conflict',
        `${key} is a key of several connections: ${[...stated].toSorted().join(', ')}; name one of them`,
      )
}

async function resetSync({ platform }: SyncContext, personnelIds: number[], signal: AbortSignal): Promise<number> {
  const body = { action: 'reset-sync' as const, personnelIds }
  const answer = await platform.rateLimiter.send(() => platform.client.resetPersonnelSync({ body }, { signal }), signal)
  if (answer.status === 409)
    throw new Failure('conflict', 'an identity sync of the platform is running; repeat this when it has ended')
  const classified = classifyAnswer(answer)
  if (classified.kind === 'done') return classified.body.count
  throw new Failure(
    classified.kind === 'blocked' ? 'blocked' : 'platform_unreachable',
    `the platform did not reset the sync: ${classified.message}`,
  )
}
