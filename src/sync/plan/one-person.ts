import { Failure } from '../../errors.ts'
import type { Verdict } from '../../identity/change.ts'
import { pluralize } from '../../identity/pluralize.ts'
import type { PersonInput } from '../../identity/decide/decide.ts'
import { explain } from '../../identity/decide/explain.ts'
import { isLater } from '../../identity/decide/row-book.ts'
import type { RowAccount } from '../../identity/mapping/row-account.ts'
import type { Reject } from '../../identity/record.ts'
import { resolveKey } from '../../store/key-answers.ts'
import type { PlanSummary } from '../../store/plans/plans.ts'
import { findKeysByEmail, rosterEntry } from '../../store/roster/roster.ts'
import type { RequestedPerson, Db, PersonAccount } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { contextOf } from './before-reading.ts'
import { openSource } from './feeds.ts'
import { preparePlan } from './prepare.ts'
import type { Progress } from './read-rows.ts'
import { verdictsOnRest } from './split-plan.ts'
import type { Stage } from './stage.ts'
import { requestedPerson, emailTest, watchPerson } from './watch-person.ts'

/** A guard that speaks of rows of their own: values in the rows of other people are no reason to stop this one. */
const ofSingleRows = 'unlistedValues'

/**
 * Reads the source to its end and stages what follows for one person. The run speaks of this person alone, so it is a delta: what is
 * known of all others, and which export was accepted last, stays as it was. Guards that judge the source as a whole count all the same.
 */
export async function preparePerson(
  ctx: Pick<SyncContext, 'store' | 'now'>,
  connection: SyncConnection,
  {
    asked,
    stage,
    signal,
    onProgress,
  }: { asked: RequestedPerson; stage: Stage; signal: AbortSignal; onProgress: Progress },
): Promise<
  Omit<PlanSummary, 'verification' | 'configuration' | 'basis'> & {
    readonly heldPart: null
    readonly account: { readonly person: PersonAccount }
  }
> {
  const { db } = ctx.store
  const { name } = connection
  const known =
    asked.identityId === undefined ? await findKeysByEmail(db, { connection: name, isMeant: emailTest(asked) }) : []
  const meant = asked.identityId === undefined ? asked : await underFirstKey(db, name, asked.identityId)
  const feed = await openSource(ctx, connection, signal)
  const context = contextOf(feed.reading, feed.rules, ctx.now())
  const only = watchPerson(meant, { known, isLater: (told) => isLater(told, context) })
  const preparing = { feed, stage, everybody: false, splits: null, only, signal, onProgress }
  const plan = await preparePlan(ctx, connection, preparing).finally(() => feed.reading.close?.())
  const { source } = plan
  if (source === null)
    throw new Failure(
      'source_unreadable',
      `the source of "${name}" has no export that was not taken yet; \`rollcall person KEY\` shows what is known of a person`,
    )
  const columns = plan.guards.find(({ name: guard, ok }) => guard === 'missingColumn' && !ok)
  if (plan.fields === null && columns)
    throw new Failure('source_unreadable', `no row of ${source.name} can be read: ${columns.reason}`)
  const identityId = only.key(source.name)
  if (only.named() === 0 && (await rosterEntry(db, { connection: name, identityId })) === null)
    throw new Failure('not_found', nowhere(identityId, { connection: name, plan, alike: only.alike(source.name) }))

  const rejects = ownRejects(identityId, plan.rejects, only.rejects)
  const decided = only.decided()
  if (decided === null && rejects.length === 0 && !only.waits())
    throw new Failure(
      'usage',
      `the row that counts for the person does not hold this e-mail address: ask for the key ${identityId}`,
    )
  const isOfOthers = ({ name: guard }: Verdict) => guard === ofSingleRows && rejects.every(({ unlisted }) => !unlisted)
  const verdicts = plan.guards.flatMap((verdict) => (isOfOthers(verdict) ? verdictsOnRest([verdict]) : verdict))
  const failed = verdicts.filter(({ ok }) => !ok)
  // A source that a guard stops is believed in nothing, but there is nothing to approve either.
  const isIdle = decided?.change == null
  if (isIdle && failed.length > 0) await stage.drop([identityId])
  const evidence = only.waits()
    ? ['each row of the person takes effect on a later day, and waits for it: until then the person stays as known']
    : decided
      ? explain(decided, context)
      : ['no row of the person can be used, and they are not known: there is nothing to send']
  const { more: _, ...read } = source
  return {
    ...plan,
    mode: 'delta',
    source: read,
    records: only.named() > 0 && rejects.every(({ cellOnly }) => cellOnly) ? 1 : 0,
    counts: {
      ...plan.counts,
      rejected: rejects.filter(({ cellOnly }) => !cellOnly).length,
      incomplete: rejects.some(({ cellOnly }) => cellOnly) ? 1 : 0,
    },
    guards: isIdle ? verdictsOnRest(verdicts) : verdicts,
    rejects,
    endKeys: [],
    standing: null,
    heldPart: null,
    account: {
      person: {
        identityId,
        source: source.name,
        asOf: plan.asOf,
        rows: withReasons(only.rows, rejects, decided?.input),
        decision: decided?.change?.kind ?? 'none',
        evidence: [
          ...evidence,
          ...(isIdle
            ? failed.map(({ name: guard, reason = '' }) => `the export as a whole would be held: ${guard}: ${reason}`)
            : []),
        ],
      },
    },
  }
}

/** A key that a person called another one's is looked for under the first one. */
async function underFirstKey(db: Db, connection: string, identityId: string): Promise<RequestedPerson> {
  return requestedPerson(await resolveKey(db, { connection, identityId }))
}

function nowhere(
  identityId: string,
  {
    connection,
    plan,
    alike,
  }: { connection: string; plan: Pick<PlanSummary, 'source' | 'rows' | 'rejects'>; alike: string },
): string {
  const unreadable = plan.rejects.filter((reject) => reject.identityId === null).length
  const rows = unreadable === 0 ? '' : `; the key of ${unreadable} of its rows cannot be read`
  return `person "${identityId}" stands neither in ${plan.source?.name} (${pluralize(plan.rows, 'row')}) nor in the roster of "${connection}"${alike}${rows}`
}

/** What cannot be read of the person's rows, each once. A large source with many rejects does not keep all of them. */
function ownRejects(identityId: string, ofAll: readonly Reject[], ofRows: readonly Reject[]): readonly Reject[] {
  const kept = ofAll.filter((reject) => reject.identityId === identityId)
  return kept.length > 0 ? kept : ofRows
}

/** Says of each row that does not count why that is so. */
function withReasons(
  rows: readonly RowAccount[],
  rejects: readonly Reject[],
  seen: PersonInput | undefined,
): RowAccount[] {
  const counts = typeof seen === 'object' ? seen.origin.line : null
  return rows.map((row) => {
    const { line } = row.origin
    const reject = rejects.find((one) => !one.cellOnly && one.line === line)
    const outranked = counts === null || counts === line ? null : 'another row of the person counts'
    return { ...row, reason: row.reason ?? reject?.reason ?? outranked }
  })
}
