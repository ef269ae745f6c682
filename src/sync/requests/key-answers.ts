import { Failure } from '../../errors.ts'
import type { KeyChangeCandidate } from '../../identity/key-change-candidates.ts'
import { pluralize } from '../../identity/pluralize.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import {
  dropKeyAnswer,
  heldRunWithBothKeys,
  type KeyAnswer,
  keyAnswers,
  listKeyAnswers,
  markPlansOutdated,
  openCandidates,
  storeKeyAnswers,
} from '../../store/key-answers.ts'
import { rosterEntries } from '../../store/roster/roster.ts'
import { ensureConnection, getRun } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import { requireConnection, type SyncContext } from '../context/context.ts'
import { refuseWhilePlanning } from '../context/refuse-while-planning.ts'

type Keys = Pick<KeyChangeCandidate, 'former' | 'identityId'>
type KeyStatement = { readonly connection: string; readonly same: boolean; readonly by: string }

/** The number of answered pairs, of ambiguous pairs, and of held plans that an approval plans again. */
type AnswerCounts = { readonly answered: number; readonly unclear: number; readonly moved: number }

/**
 * Stores the answer of an operator about two keys: they name one person, who keeps the old key on the platform, or two people. An
 * approval of a held plan that mentions them plans again.
 */
export async function answerKeys(
  ctx: SyncContext,
  { former, identityId, ...statement }: Keys & KeyStatement,
): Promise<AnswerCounts> {
  const { name } = requireConnection(ctx, statement.connection)
  await ensureConnection(ctx.store.db, name)
  return await ctx.store.db.transaction().execute(async (tx) => {
    await refuseWhilePlanning(tx, name)
    return {
      ...(await storeAnswers(ctx, tx, [{ former, identityId }], { ...statement, isCandidate: false })),
      unclear: 0,
    }
  })
}

type CandidateAnswers = Pick<KeyStatement, 'same' | 'by'> & { readonly runId: string }

/** Stores the same answer for all pairs of a held run. An ambiguous pair is never answered with "one person": an operator has to look at it. */
export async function answerPairs(ctx: SyncContext, { runId, same, by }: CandidateAnswers): Promise<AnswerCounts> {
  const run = await getRun(ctx.store.db, runId)
  if (!run) throw new Failure('not_found', `there is no run ${runId}`)
  if (run.state !== 'held') throw new Failure('conflict', `run ${runId} is ${run.state}, not held`)
  const { connection } = run
  return await ctx.store.db.transaction().execute(async (tx) => {
    await refuseWhilePlanning(tx, connection)
    const pairs = await openCandidates(tx, { connection, runId })
    const clear = pairs.filter((pair) => pair.clear || !same)
    if (pairs.length === 0) throw new Failure('conflict', `run ${runId} has no pair of keys that waits for an answer`)
    if (clear.length === 0)
      throw new Failure(
        'conflict',
        `each of the ${pluralize(pairs.length, 'pair')} of run ${runId} is ambiguous: answer it with its two keys`,
      )
    return {
      ...(await storeAnswers(ctx, tx, clear, { connection, same, by, isCandidate: true })),
      unclear: pairs.length - clear.length,
    }
  })
}

/** Withdraws an answer. The next run that finds the two keys asks again. */
export async function withdrawAnswer(
  ctx: SyncContext,
  { connection, former, identityId, by }: Keys & { connection: string; by: string },
): Promise<AnswerCounts> {
  requireConnection(ctx, connection)
  return await ctx.store.db.transaction().execute(async (tx) => {
    await refuseWhilePlanning(tx, connection)
    const { aliases } = await keyAnswers(tx, connection)
    const names = aliases.get(former)?.identityId ?? former
    const dropped = await dropKeyAnswer(tx, { connection, former: names, identityId })
    if (dropped === null)
      throw new Failure('not_found', `there is no answer about the keys ${former} and ${identityId}`)
    const reason = `an answer about its keys was withdrawn since, by ${by}`
    const moved = await markPlansOutdated(tx, { connection, identityIds: [names, identityId], reason })
    const details = { same: dropped.same, former: names, key: identityId }
    await recordAuditEntry(tx, { act: 'keys.withdrawn', connection, by, details, now: ctx.now() })
    ctx.events.keysDecided({ connection, by, keys: 1, answer: 'withdrawn' })
    return { answered: 1, unclear: 0, moved }
  })
}

/** Lists the answers about keys of a connection, and the first open candidates of its held plans. */
export async function listKeys(
  ctx: SyncContext,
  { connection, limit }: { connection: string; limit: number },
): Promise<{ answers: KeyAnswer[]; pairs: Awaited<ReturnType<typeof openCandidates>> }> {
  requireConnection(ctx, connection)
  const { db } = ctx.store
  return { answers: await listKeyAnswers(db, connection), pairs: await openCandidates(db, { connection, limit }) }
}

async function storeAnswers(
  ctx: SyncContext,
  tx: Db,
  answeredKeys: readonly Keys[],
  { connection, same, by, isCandidate }: KeyStatement & { readonly isCandidate: boolean },
): Promise<Omit<AnswerCounts, 'unclear'>> {
  const known = await keyAnswers(tx, connection)
  const personOf = (key: string) => known.aliases.get(key)?.identityId ?? key
  const pairs = answeredKeys.map(({ former, identityId }) => {
    if (former === identityId) throw new Failure('usage', `both keys are ${former}: give two different keys`)
    if (personOf(former) === identityId)
      throw new Failure(
        'conflict',
        `${former} names the person ${identityId} already: an alias in the other direction would be a loop`,
      )
    return { former, identityId, firstKey: personOf(former) }
  })
  const identityIds = pairs.flatMap(({ firstKey, identityId }) => [firstKey, identityId])
  const people = await rosterEntries(tx, { connection, identityIds })
  for (const { firstKey: former, identityId } of pairs) {
    const person = people.get(former)
    if (!person || (person.desired ?? person.confirmed) === null)
      throw new Failure(
        'not_found',
        `"${connection}" has no person ${former}: name the key that the platform knows first`,
      )
    const named = personOf(identityId)
    if (named !== identityId && (!same || named !== former))
      throw new Failure('conflict', `${identityId} names the person ${named}: undo that answer first (--undo)`)
    if (!same) continue
    if (person.retracted)
      throw new Failure('conflict', `person ${former} was retracted at ${person.retracted.at}: restore them first`)
    const other = people.get(identityId)
    if (other && (other.desired ?? other.confirmed) !== null && other.retracted === null)
      throw new Failure(
        'conflict',
        `${identityId} is a separate person by now: if that was sent by mistake, retract it first (rollcall retract ${identityId})`,
      )
    // A run that found the pair knows that the former key is gone.
    const both = isCandidate ? null : await heldRunWithBothKeys(tx, { connection, former, identityId })
    if (both !== null && (person.desired?.separatedAt ?? null) === null)
      throw new Failure('conflict', `the export of run ${both} lists both, ${former} and ${identityId}, as employed`)
  }
  const now = ctx.now()
  await storeKeyAnswers(tx, { connection, pairs, same, by, now })
  const reason =
    pairs.length === 1
      ? `1 answer about its keys was given since, by ${by}`
      : `${pairs.length} answers about its keys were given since, by ${by}`
  const moved = await markPlansOutdated(tx, { connection, identityIds, reason })
  const details = {
    same,
    former: pairs.map(({ firstKey }) => firstKey),
    keys: pairs.map(({ identityId }) => identityId),
  }
  await recordAuditEntry(tx, { act: 'keys.answered', connection, by, details, now })
  ctx.events.keysDecided({ connection, by, keys: pairs.length, answer: same ? 'one person' : 'two people' })
  return { answered: pairs.length, moved }
}
