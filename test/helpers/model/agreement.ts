import { isDeepStrictEqual } from 'node:util'
import { exitCodeOf } from '../../../src/cli/session/follow-run.ts'
import { Run as RunView } from '../../../src/contract/control/shapes.ts'
import { failures } from '../../../src/errors.ts'
import type { Entry } from '../../../src/store/audit/trail.ts'
import { listProblems } from '../../../src/store/deliveries/problems.ts'
import { type AccountedChange, changesOf, personOf } from '../../../src/store/history/history.ts'
import { listRuns, type Run } from '../../../src/store/runs/runs.ts'
import type { Db } from '../../../src/store/schema.ts'
import { peopleOn } from '../world.ts'
import type { TestSystem } from './test-system.ts'

const jobOf = {
  join: 'upsert',
  update: 'upsert',
  leave: 'update',
  return: 'update',
  correct: 'update',
  retract: 'delete',
} as const
/** A plan that was dropped has nothing to account for; one that is made just now is not complete. */
const accountable = ['delivering', 'finished', 'finished_with_problems', 'unchanged'] as const

/**
 * Where the accounts of what was delivered contradict each other or the platform: the counts, the state and the exit code of each run, the
 * list of problems, the history of each person, and the audit trail. Nothing may be under way.
 */
export async function disagreements({ client, world }: TestSystem): Promise<string[]> {
  const { db } = world.sync.store
  const runs = (await listRuns(db, { limit: 1000 })).filter(({ state }) => accountable.some((one) => one === state))
  const audited = await auditedOutcomes(db)
  const result: string[] = []
  const changed = new Set<string>()
  for (const run of runs) {
    const changes = await changesOf(db, run.id, { limit: 10_000 })
    for (const { change } of changes) changed.add(change.identityId)
    const trail = changes.flatMap(({ state, change: { identityId } }) => {
      const outcome = state === 'confirmed' || state === 'problem' ? state : undefined
      return differ(`the audit trail of ${identityId}`, audited.get(`${run.id} ${identityId}`), outcome)
    })
    result.push(
      ...[...ofRun(run, changes), ...trail].map((difference) => `run ${run.id} (${run.state}): ${difference}`),
    )
  }

  const problems = await listProblems(db, { now: world.sync.now() })
  const platform = await peopleOn(client)
  for (const identityId of changed) {
    const { entry, changes } = (await personOf(db, { connection: 'acme', identityId })) ?? { entry: null, changes: [] }
    const isDue = changes.some(({ state }) => state === 'due')
    // The plan of a retraction may wait for long, so that the last answer is not about the change that was planned last.
    const newest = changes
      .filter(({ state }) => state === 'confirmed' || state === 'problem')
      .reduce<AccountedChange | undefined>((last, one) => (last && timeOf(last) >= timeOf(one) ? last : one), undefined)
    const refused = changes.find(({ state }) => state === 'problem')
    const problem = problems.find((one) => one.identityId === identityId)
    const about = (text: string) => result.push(`person ${identityId}: ${text}`)
    if (newest?.state === 'problem' && !isDue && problem === undefined) about('was refused and is no problem')
    if (newest?.state === 'confirmed' && !isDue && problem !== undefined)
      about(`is a problem (${problem.state}) and was confirmed`)
    if (problem?.state === 'refused' && problem.message !== (refused?.answer?.message ?? 'the platform gave no reason'))
      about(`is a problem for "${problem.message}" and was refused for "${refused?.answer?.message}"`)

    const onPlatform = platform.get(identityId)
    if (newest?.state !== 'confirmed' || isDue) continue
    if (newest.change.kind === 'retract') {
      if (onPlatform !== undefined) about('is retracted and on the platform')
      continue
    }
    for (const [field, value] of Object.entries(newest.change.record)) {
      const stored = onPlatform?.[field as keyof typeof onPlatform] ?? null
      if (stored !== value) about(`was confirmed with another ${field}`)
    }
    if (!isDeepStrictEqual(entry?.confirmed, newest.change.record))
      about('is known with another record than the confirmed one')
  }
  return result
}

/** What the audit trail says last of each person in each run. */
async function auditedOutcomes(db: Db): Promise<Map<string, string>> {
  const rows = await db.selectFrom('audit_pending').select('entry').orderBy('id').execute()
  const outcomes = new Map<string, string>()
  for (const { entry } of rows) {
    const { act, runId, identityId, details = {} }: Entry = JSON.parse(entry)
    if (act === 'change.delivered') outcomes.set(`${runId} ${identityId}`, String(details.outcome))
    if (act !== 'batch.delivered') continue
    for (const key of details.people as string[]) outcomes.set(`${runId} ${key}`, 'confirmed')
    for (const key of details.refused as string[]) outcomes.set(`${runId} ${key}`, 'problem')
  }
  return outcomes
}

function timeOf({ answeredAt, plannedAt }: AccountedChange): string {
  return answeredAt ?? plannedAt
}

function ofRun(run: Run, changes: readonly AccountedChange[]): string[] {
  const inState = (changeState: string) => changes.filter((change) => change.state === changeState)
  const [confirmed, refused, due] = [inState('confirmed'), inState('problem'), inState('due')]
  const sent = (job: keyof Run['sent']) =>
    [...confirmed, ...refused].filter(({ change }) => jobOf[change.kind] === job).length
  const kinds = Object.keys(jobOf) as (keyof typeof jobOf)[]
  const state = due.length > 0 ? 'delivering' : refused.length > 0 ? 'finished_with_problems' : 'finished'
  const isEmpty = changes.length === 0
  const exit = {
    delivering: 0,
    finished: 0,
    unchanged: 0,
    finished_with_problems: failures.finished_with_problems.exit,
  }
  return [
    ...differ('confirmed', run.confirmed, confirmed.length),
    ...differ('problems', run.problems, refused.length),
    ...differ('remaining', run.remaining, due.length),
    ...(['upsert', 'update', 'delete'] as const).flatMap((job) =>
      differ(`sent by ${job}`, run.sent[job].people, sent(job)),
    ),
    ...kinds.flatMap((kind) =>
      differ(kind, run.counts?.[kind] ?? 0, changes.filter(({ change }) => change.kind === kind).length),
    ),
    ...differ('state', run.state, isEmpty && run.state === 'unchanged' ? 'unchanged' : state),
    ...differ('exit code', exitCodeOf(RunView.parse(run)), exit[run.state as keyof typeof exit]),
    ...confirmed.flatMap(({ answer, requests, sentAt, answeredAt, change: { identityId } }) => [
      ...differ(`the answer about ${identityId}`, isGood(answer?.status), true),
      ...differ(`requests about ${identityId}`, requests > 0, true),
      ...differ(`the order of request and answer about ${identityId}`, (sentAt ?? '') <= (answeredAt ?? ''), true),
    ]),
  ]
}

/** A person who is not there counts as deleted. */
function isGood(status: number | string | undefined): boolean {
  return typeof status === 'number' && (status < 300 || status === 404)
}

function differ(subject: string, stated: unknown, is: unknown): string[] {
  return stated === is ? [] : [`${subject} says ${stated} and is ${is}`]
}
