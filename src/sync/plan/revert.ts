import { decideState } from '../../identity/decide/decide.ts'
import { withPin } from '../../identity/decide/decisions.ts'
import type { PlannedPerson } from '../../identity/decide/planned.ts'
import { type RunEffect, type UndoResult, undo } from '../../identity/decide/revert.ts'
import { tally } from '../../identity/decide/tally.ts'
import { judge } from '../../identity/guards/judge.ts'
import type { RosterEntry } from '../../identity/record.ts'
import { doneBy } from '../../store/history/done.ts'
import { keyAnswers } from '../../store/key-answers.ts'
import type { PlanSummary } from '../../store/plans/plans.ts'
import { headcount, rosterEntries } from '../../store/roster/roster.ts'
import { getRun } from '../../store/runs/runs.ts'
import type { RevertAccount, RunOptions } from '../../store/schema.ts'
import type { SyncConnection, SyncContext } from '../context/context.ts'
import { pinnedPeople, planContext } from './plan-inputs.ts'
import { mainRules } from './feeds.ts'
import { recentlyPassedFacts } from './judge-plan.ts'
import type { Stage } from './stage.ts'

/** So many people of each kind are named; all of them are counted. */
const keysKept = 1000

/**
 * Plans the inverse of what a run did, from what is known of its people now. No source is read. Joiners are named for a retraction,
 * and retractions for a restoration, since each of these is an act of its own that names the person.
 */
export async function planRevert(
  ctx: Pick<SyncContext, 'store' | 'now'>,
  connection: SyncConnection,
  { revert, stage, signal }: { revert: NonNullable<RunOptions['revert']>; stage: Stage; signal: AbortSignal },
): Promise<
  Omit<PlanSummary, 'verification' | 'configuration' | 'basis'> & {
    readonly heldPart: null
    readonly account: { readonly revert: RevertAccount }
  }
> {
  const { db } = ctx.store
  const now = ctx.now()
  const asOf = now.toISOString()
  const rules = mainRules(connection)
  const context = planContext({ mode: 'delta', asOf }, rules, now)
  const repairs = (await getRun(db, revert.runId))?.options.verify ?? false
  const pinned = pinnedPeople(connection, await keyAnswers(db, connection.name))
  const counted = tally()
  const found = accounted(revert.runId)

  for await (const some of doneBy(db, revert.runId)) {
    signal.throwIfAborted()
    const identityIds = some.map(({ change }) => change.identityId)
    const known = await rosterEntries(db, { connection: connection.name, identityIds })
    await stage.put(some.flatMap((done) => planned(known.get(done.change.identityId), done)))
  }

  function planned(entry: RosterEntry | undefined, done: RunEffect): PlannedPerson[] {
    const { identityId } = done.change
    const undoing = undo(entry, done, { repairs })
    found.note(identityId, undoing)
    if (undoing.kind !== 'back' || entry === undefined) return []
    const decision = withPin(identityId, decideState(entry, undoing.state, context), pinned)
    counted.add(decision, 'untouched')
    return [{ identityId, entry: decision.entry, change: decision.change, origin: null }]
  }

  const account = found.account()
  const { employed, ...before } = await headcount(db, connection.name)
  const facts = counted.facts({
    mode: 'delta',
    rows: account.people,
    size: null,
    endMissing: false,
    headcount: employed,
    ...(await recentlyPassedFacts(db, { connection: connection.name, feed: 'revert', asOf, now })),
    usual: null,
    missingColumns: [],
    keyChangeCandidates: [],
    absence: rules.absence,
  })
  const digest = await stage.digest()
  return {
    mode: 'delta',
    source: null,
    asOf,
    rows: 0,
    records: account.people,
    counts: counted.counts(),
    people: counted.people(),
    known: before,
    guards: judge(facts, connection.guards)
      .filter(({ name }) => ofPeople.has(name))
      .map(counted.explain),
    digest,
    fields: null,
    endKeys: [],
    pairs: [],
    warnings: [],
    rejects: [],
    standing: null,
    heldPart: null,
    account: { revert: account },
  }
}

/** The guards that judge what becomes of people. There are no rows to judge. */
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

/** Notes what becomes of each person of the reverted run. */
function accounted(runId: string) {
  let people = 0
  const lists = { joiners: named(), retracted: named() }
  const left: { identityId: string; reason: string }[] = []
  let leftCount = 0

  return {
    note(identityId: string, undoing: UndoResult): void {
      const { kind } = undoing
      if (kind === 'back') people++
      else if (kind === 'retract') lists.joiners.add(identityId)
      else if (kind === 'restore') lists.retracted.add(identityId)
      else if (kind === 'skipped') {
        leftCount++
        if (left.length < keysKept) left.push({ identityId, reason: undoing.reason })
      }
    },
    account: (): RevertAccount => ({
      runId,
      people,
      joiners: lists.joiners.all(),
      retracted: lists.retracted.all(),
      left: { count: leftCount, people: left },
    }),
  }
}

function named() {
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
