import type { PlannedPerson } from '../../identity/decider.ts'
import { compareKeys } from '../../identity/digest.ts'
import type { ValueDigests } from '../../identity/value-digests.ts'
import { clearPlan, type StagedChange, stagedChanges, stagePeople, unstagePeople } from '../../store/plans/plans.ts'
import { type ClaimedRun, holdsRun } from '../../store/runs/claims.ts'
import type { Db } from '../../store/schema.ts'

/** Where a plan grows while its source is read. */
export type Stage = {
  put(people: readonly PlannedPerson[]): Promise<void>
  drop(identityIds: readonly string[]): Promise<void>
  /** Takes everything out again: the source is read anew. */
  clear(): Promise<void>
  /** Everything staged that is to be sent, in key order. */
  changes(): AsyncIterable<readonly StagedChange[]>
}

/** Thrown where another attempt at the same run has taken over: this one ends without a trace. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken'
}

/** Stages in the store, so that the size of a plan costs no memory. `digests`: where values are not kept. */
export function storeStage(db: Db, claim: ClaimedRun, digests: ValueDigests | null): Stage {
  const runId = claim.run.id
  return {
    put: (people) =>
      db.transaction().execute(async (tx) => {
        if (!(await holdsRun(tx, claim))) throw new Overtaken()
        await stagePeople(tx, runId, people, digests)
      }),
    drop: (identityIds) =>
      db.transaction().execute(async (tx) => {
        if (!(await holdsRun(tx, claim))) throw new Overtaken()
        await unstagePeople(tx, runId, identityIds)
      }),
    clear: () =>
      db.transaction().execute(async (tx) => {
        if (!(await holdsRun(tx, claim))) throw new Overtaken()
        await clearPlan(tx, runId)
      }),
    changes: () => stagedChanges(db, runId),
  }
}

/** Stages in memory, for a plan that is shown and forgotten. */
export function memoryStage(): Stage {
  const staged = new Map<string, StagedChange>()
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
      yield [...staged].sort(([a], [b]) => compareKeys(a, b)).map(([, change]) => change)
    },
  }
}

/** Keeps so many changes in memory at most, for a look at a plan of any size. */
export function glanceStage(most: number): Stage & { readonly seen: () => readonly StagedChange[] } {
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
    seen: () => [...staged.values()],
  }
}
