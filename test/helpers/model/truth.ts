import { renderOutcome } from '../../../src/cli/render/run.ts'
import { plain } from '../../../src/cli/render/text.ts'
import { exitCodeOf } from '../../../src/cli/session/follow-run.ts'
import { failures } from '../../../src/errors.ts'
import { listProblems } from '../../../src/store/deliveries/problems.ts'
import { listBlockedPeople } from '../../../src/store/rejects/blocked-people.ts'
import { listRuns, type Run } from '../../../src/store/runs/runs.ts'
import type { Db } from '../../../src/store/schema.ts'
import { peopleOn } from '../world.ts'
import { expectedNow, type Model, recordAccepted } from './story.ts'
import type { TestSystem } from './test-system.ts'

/** Counts that show that both successes and differences occurred. */
export type Counts = {
  /** Turns of the stories. */
  turns: number
  /** How often the last run reported success and the platform held exactly HR's data. */
  exact: number
  /** How often it reported success and every difference was named. */
  named: number
  /** The differences that were named, by where. */
  problems: number
  inDoubt: number
  blockedPeople: number
  /** Requests that were given up and reached the platform later. */
  late: number
}

export const noCounts = (): Counts => ({
  turns: 0,
  exact: 0,
  named: 0,
  problems: 0,
  inDoubt: 0,
  blockedPeople: 0,
  late: 0,
})

/** That all was done, or all but what stands in the problems. */
const successes: readonly number[] = [0, failures.finished_with_problems.exit]

/**
 * A sentence for each difference between the platform and HR that no one is told of, though the run that ended last says success, or
 * success but for problems. Empty also where it says neither, or where another plan was accepted since and is not delivered.
 */
export async function findUnreported(model: Model, system: TestSystem, counts: Counts): Promise<string[]> {
  await recordAccepted(model, system)
  const { sync } = system.world
  const runs = await listRuns(sync.store.db, { connection: 'acme', limit: 50 })
  const last = latest(runs)
  if (last === null || !successes.includes(exitCodeOf(last)) || runs.some(({ state }) => state === 'delivering'))
    return []
  const differences = await withoutLeftOut(sync.store.db, differing(expectedNow(model), await peopleOn(system.client)))
  if (differences.size === 0) counts.exact++
  else counts.named++
  const named = await namedBy(last, sync.store.db, sync.now())
  return [...differences].flatMap(([id, difference]) => {
    const where = (['problems', 'inDoubt', 'blockedPeople'] as const).find((list) => named[list].has(id))
    if (where !== undefined) counts[where]++
    return where === undefined
      ? [`run ${last.id} (${last.feed}, ${last.state}) exits with ${exitCodeOf(last)}; ${id}: ${difference}`]
      : []
  })
}

/** The differences of people who were not left out when a part of their plan was approved: a part speaks of its own people. */
async function withoutLeftOut(db: Db, differences: ReadonlyMap<string, string>): Promise<ReadonlyMap<string, string>> {
  const waiting = await db.selectFrom('unapproved_people').select('identity_id').execute()
  const leftOut = new Set(waiting.map(({ identity_id }) => identity_id))
  return new Map([...differences].filter(([id]) => !leftOut.has(id)))
}

function latest(runs: readonly Run[]): Run | null {
  const ended = runs.filter(({ finishedAt }) => finishedAt !== null)
  return ended.toSorted((a, b) => (a.finishedAt ?? '').localeCompare(b.finishedAt ?? '')).at(-1) ?? null
}

/** The people whose record on the platform differs from HR's export. */
function differing(
  expected: ReturnType<typeof expectedNow>,
  platform: Awaited<ReturnType<typeof peopleOn>>,
): ReadonlyMap<string, string> {
  const result = new Map<string, string>()
  for (const [id, person] of expected) {
    const onPlatform = platform.get(id)
    const fields = Object.entries(person).filter(
      ([field, value]) => onPlatform?.[field as keyof typeof onPlatform] !== value,
    )
    if (onPlatform === undefined) result.set(id, 'is not on the platform')
    else if (fields.length > 0)
      result.set(id, `the platform holds another ${fields.map(([field]) => field).join(', ')}`)
  }
  for (const id of platform.keys()) if (!expected.has(id)) result.set(id, 'is on the platform and should not be')
  return result
}

/** The people whom an operator sees: in the list of problems and in the last output of a command. */
async function namedBy(run: Run, db: Db, now: Date) {
  const outcome = renderOutcome(run, plain)
  const doubted = await db.selectFrom('in_doubt').select('identity_id').execute()
  return {
    problems: new Set((await listProblems(db, { now })).map(({ identityId }) => identityId)),
    blockedPeople: new Set((await listBlockedPeople(db, { now })).map(({ identityId }) => identityId)),
    inDoubt: new Set(outcome.includes('in doubt') ? doubted.map(({ identity_id }) => identity_id) : []),
  }
}
