import { decideState } from '../../identity/decide/decide.ts'
import { withPin } from '../../identity/decide/decisions.ts'
import type { PlannedPerson } from '../../identity/decide/planned.ts'
import { type RunEffect, type UndoResult, undo } from '../../identity/decide/revert.ts'
import { type Tally, tally } from '../../identity/decide/tally.ts'
import { judge } from '../../identity/guards/judge.ts'
import type { RosterEntry } from '../../identity/record.ts'
import { effectsOf } from '../../store/history/effects.ts'
import { keyAnswers } from '../../store/key-answers.ts'
import type { PlanSummary } from '../../store/plans/plans.ts'
import { headcount, rosterEntries } from '../../store/roster/roster.ts'
import { getRun } from '../../store/runs/runs.ts'
import type { Db, RevertAccount, RunOptions } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { mainRules } from './feeds.ts'
import { recentlyPassedFacts } from './judge-plan.ts'
import { pinnedPeople, planContext } from './plan-inputs.ts'
import type { Stage } from './stage.ts'

/** Maximum number of keys that are listed of each kind; all are counted. */
const keysKept = 1000

type RevertInput = {
  readonly revert: NonNullable<RunOptions['revert']>
  readonly stage: Stage
  readonly signal: AbortSignal
}

type RevertPlan = Omit<PlanSummary, 'verification' | 'configuration' | 'basis'> & {
  readonly heldPart: null
  readonly account: { readonly revert: RevertAccount }
}

/**
 * Plans the inverse of what a run did, from what is known of its people now. No source is read. Joiners are listed for a retraction, and
 * retractions for a restoration, because each of these is a request of its own that names the person.
 */
export async function planRevert(
  ctx: Pick<SyncContext, 'store' | 'now'>,
  connection: SyncConnection,
  input: RevertInput,
): Promise<RevertPlan> {
  const { db } = ctx.store
  const now = ctx.now()
  const asOf = now.toISOString()
  const decisions = tally()
  const account = await stageInverse(db, connection, { ...input, now, decisions })
  const { employed, ...known } = await headcount(db, connection.name)
  const facts = decisions.facts({
    mode: 'delta',
    rows: account.people,
    size: null,
    endMissing: false,
    headcount: employed,
    ...(await recentlyPassedFacts(db, { connection: connection.name, feed: 'revert', asOf, now })),
    usual: null,
    missingColumns: [],
    keyChangeCandidates: [],
    absence: mainRules(connection).absence,
  })
  const digest = await input.stage.digest()
  return {
    mode: 'delta',
    source: null,
    asOf,
    rows: 0,
    records: account.people,
    counts: decisions.counts(),
    people: decisions.people(),
    known,
    guards: judge(facts, connection.guards)
      .filter(({ name }) => ofPeople.has(name))
      .map(decisions.explain),
    digest,
    fields: null,
    endKeys: [],
    pairs: [],
    warnings: [],
    rejects: [],
    faults: null,
    heldPart: null,
    account: { revert: account },
  }
}

type InverseInput = RevertInput & { readonly now: Date; readonly decisions: Tally }

/** Decides about each person of the reverted run, and stages what changes. Returns the account of all of them. */
async function stageInverse(
  db: Db,
  connection: SyncConnection,
  { revert, stage, signal, now, decisions }: InverseInput,
): Promise<RevertAccount> {
  const context = planContext({ mode: 'delta', asOf: now.toISOString() }, mainRules(connection), now)
  const repairs = (await getRun(db, revert.runId))?.options.verify ?? false
  const pinned = pinnedPeople(connection, await keyAnswers(db, connection.name))
  const account = revertAccount(revert.runId)
  const planned = (entry: RosterEntry | undefined, effect: RunEffect): PlannedPerson[] => {
    const { identityId } = effect.change
    const undone = undo(entry, effect, { repairs })
    account.add(identityId, undone)
    if (undone.kind !== 'back' || entry === undefined) return []
    const decision = withPin(identityId, decideState(entry, undone.state, context), pinned)
    decisions.add(decision, 'untouched')
    return [{ identityId, entry: decision.entry, change: decision.change, origin: null }]
  }
  for await (const page of effectsOf(db, revert.runId)) {
    signal.throwIfAborted()
    const identityIds = page.map(({ change }) => change.identityId)
    const known = await rosterEntries(db, { connection: connection.name, identityIds })
    await stage.put(page.flatMap((effect) => planned(known.get(effect.change.identityId), effect)))
  }
  return account.summary()
}

/** The guards about people. There are no rows to judge. */
const ofPeople: ReadonlySet<string> = new Set([
  'leavers',
  'pinned',
  'returns',
  'redates',
  'contractorFlips',
  'emailChanges',
  'fieldChanges',
  'blanks',
])

/** Counts and lists what happens to each person of the reverted run. */
function revertAccount(runId: string) {
  let people = 0
  const lists = { joiners: keyList(), retracted: keyList() }
  const unchanged: { identityId: string; reason: string }[] = []
  let unchangedCount = 0

  return {
    add(identityId: string, undone: UndoResult): void {
      const { kind } = undone
      if (kind === 'back') people++
      else if (kind === 'retract') lists.joiners.add(identityId)
      else if (kind === 'restore') lists.retracted.add(identityId)
      else if (kind === 'skipped') {
        unchangedCount++
        if (unchanged.length < keysKept) unchanged.push({ identityId, reason: undone.reason })
      }
    },
    summary: (): RevertAccount => ({
      runId,
      people,
      joiners: lists.joiners.all(),
      retracted: lists.retracted.all(),
      left: { count: unchangedCount, people: unchanged },
    }),
  }
}

function keyList() {
  let count = 0
  const keys: string[] = []
  return {
    add(key: string): void {
      count++
      if (keys.length < keysKept) keys.push(key)
    },
    all: () => ({ count, keys }),
  }
}
