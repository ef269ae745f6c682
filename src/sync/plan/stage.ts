import type { PlannedPerson } from '../../identity/decide/planned.ts'
import { compareKeys, planDigest } from '../../identity/digest.ts'
import { type BatchLimits, batchNumbers } from '../../store/plans/batches.ts'
import {
  clearPlan,
  isStagedTwice,
  type StagedChange,
  stagedChanges,
  stagedDigest,
  stagePeople,
  unstagePeople,
} from '../../store/plans/plans.ts'
import { type ClaimedRun, holdsRun } from '../../store/runs/claims.ts'
import type { Db } from '../../store/schema.ts'
import { Overtaken } from '../context/overtaken.ts'

/** Where a plan grows while its source is read. */
export type Stage = {
  put(people: readonly PlannedPerson[]): Promise<void>
  drop(identityIds: readonly string[]): Promise<void>
  /** Takes everything out again: the source is read anew. */
  clear(): Promise<void>
  /** Everything staged that is to be sent, in key order. */
  changes(): AsyncIterable<readonly StagedChange[]>
  /** The digest of these changes. */
  digest(): Promise<string>
}

/** So many people are written together. */
const maxPeoplePerWrite = 1000
/** So many portions of people are written or wait for it, while the next one is read. */
const maxWrites = 2

/**
 * Stages in the store, so that the size of a plan costs no memory. People are written while the next ones are read: a failure of writing shows at
 * one of the next calls, at the latest where the changes or their digest are read.
 */
export function storeStage(db: Db, claim: ClaimedRun, limits: BatchLimits): Stage {
  const runId = claim.run.id
  const numbers = batchNumbers(limits)
  let waiting: PlannedPerson[] = []
  /** The line: the portion that is written, and those behind it. If one fails, all behind it fail too. */
  let portions: Promise<void>[] = []

  const held = (work: (tx: Db) => Promise<void>): Promise<void> =>
    db.transaction().execute(async (tx) => {
      if (!(await holdsRun(tx, claim))) throw new Overtaken()
      await work(tx)
    })

  // Whom the plan has already stays in it as they are; that is rare, so that it is looked up only then.
  async function write(people: readonly PlannedPerson[]): Promise<void> {
    try {
      await held((tx) => stagePeople(tx, runId, people, { numbers }))
    } catch (error) {
      if (!isStagedTwice(error)) throw error
      await held((tx) => stagePeople(tx, runId, people, { again: true, numbers }))
    }
  }

  /** Puts the people who wait into line to be written, and waits first while the line is full. */
  async function begin(): Promise<void> {
    while (portions.length >= maxWrites) await portions.shift()
    const people = waiting
    waiting = []
    const written = (portions.at(-1) ?? Promise.resolve()).then(() => write(people))
    // Whoever waits for it next is told; until then nobody does.
    written.catch(() => {})
    portions.push(written)
  }

  async function finish(): Promise<void> {
    if (waiting.length > 0) await begin()
    await portions.at(-1)
  }

  return {
    async put(people) {
      for (const person of people) waiting.push(person)
      if (waiting.length >= maxPeoplePerWrite) await begin()
    },
    async drop(identityIds) {
      await finish()
      await held((tx) => unstagePeople(tx, runId, identityIds))
    },
    async clear() {
      waiting = []
      // What they fail with is of no account any more.
      await Promise.allSettled(portions)
      portions = []
      await held((tx) => clearPlan(tx, runId))
    },
    async *changes() {
      await finish()
      yield* stagedChanges(db, runId)
    },
    async digest() {
      await finish()
      return await stagedDigest(db, runId)
    },
  }
}

/** Stages in memory, for a plan that is shown and forgotten. */
export function memoryStage(): Stage {
  const staged = new Map<string, StagedChange>()
  const inOrder = () => [...staged].sort(([a], [b]) => compareKeys(a, b)).map(([, change]) => change)
  return {
    async put(people) {
      for (const { identityId, change, origin } of people) if (change) staged.set(identityId, { change, origin })
    },
    async drop(identityIds) {
      for (const identityId of identityIds) staged.delete(identityId)
    },
    async clear() {
      staged.clear()
    },
    async *changes() {
      yield inOrder()
    },
    async digest() {
      return planDigest(inOrder().map(({ change }) => change))
    },
  }
}

/** Keeps so many changes in memory at most, for a look at a plan of any size. */
export function previewStage(most: number): Stage & { readonly seen: () => readonly StagedChange[] } {
  const staged = new Map<string, StagedChange>()
  return {
    async put(people) {
      for (const { identityId, change, origin } of people)
        if (change && staged.size < most) staged.set(identityId, { change, origin })
    },
    async drop(identityIds) {
      for (const identityId of identityIds) staged.delete(identityId)
    },
    async clear() {
      staged.clear()
    },
    async *changes() {},
    digest: async () => planDigest([]),
    seen: () => [...staged.values()],
  }
}
