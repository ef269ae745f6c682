import type { PlannedPerson } from '../../identity/decide/planned.ts'
import { compareKeys, planDigest } from '../../identity/digest.ts'
import { type BatchLimits, type BatchNumbers, batchNumbers } from '../../store/plans/batches.ts'
import {
  clearPlan,
  isStagedTwice,
  type StagedChange,
  stagedChanges,
  stagedDigest,
  stagePeople,
  unstagePeople,
} from '../../store/plans/plans.ts'
import type { ClaimedRun } from '../../store/runs/claims.ts'
import type { Db } from '../../store/schema.ts'
import { whileClaimed } from '../context/overtaken.ts'

/** Collects the changes of a plan while its source is read. */
export type Stage = {
  put(people: readonly PlannedPerson[]): Promise<void>
  drop(identityIds: readonly string[]): Promise<void>
  /** Drops everything, before the source is read again. */
  clear(): Promise<void>
  /** Everything staged that is to be sent, in key order. */
  changes(): AsyncIterable<readonly StagedChange[]>
  /** The digest of these changes. */
  digest(): Promise<string>
}

/** Maximum number of people per write. */
const maxPeoplePerWrite = 1000
/** Maximum number of writes under way or queued while the next people are decided about. */
const maxWrites = 2

/**
 * Stages in the store, so that the size of a plan costs no memory. Writes run in the background: a failed write throws from one of the next
 * calls, at the latest from `changes` or `digest`.
 */
export function storeStage(db: Db, claim: ClaimedRun, limits: BatchLimits): Stage {
  const runId = claim.run.id
  const numbers = batchNumbers(limits)
  let waiting: PlannedPerson[] = []
  /** The write under way and those queued after it. If one fails, all later ones fail too. */
  let writes: Promise<void>[] = []

  /** Queues the waiting people for writing, once there is room in the queue. */
  async function begin(): Promise<void> {
    while (writes.length >= maxWrites) await writes.shift()
    const people = waiting
    waiting = []
    const written = (writes.at(-1) ?? Promise.resolve()).then(() => writePeople(db, claim, people, numbers))
    // Its error is thrown where the write is awaited.
    written.catch(() => {})
    writes.push(written)
  }

  async function finish(): Promise<void> {
    if (waiting.length > 0) await begin()
    await writes.at(-1)
  }

  return {
    async put(people) {
      for (const person of people) waiting.push(person)
      if (waiting.length >= maxPeoplePerWrite) await begin()
    },
    async drop(identityIds) {
      await finish()
      await whileClaimed(db, claim, (tx) => unstagePeople(tx, runId, identityIds))
    },
    async clear() {
      waiting = []
      // Their errors no longer matter.
      await Promise.allSettled(writes)
      writes = []
      await whileClaimed(db, claim, (tx) => clearPlan(tx, runId))
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

/** Writes people. A person who is already in the plan stays as staged first; that is rare, so it is checked only after a conflict. */
async function writePeople(
  db: Db,
  claim: ClaimedRun,
  people: readonly PlannedPerson[],
  numbers: BatchNumbers,
): Promise<void> {
  const write = (again: boolean) =>
    whileClaimed(db, claim, (tx) => stagePeople(tx, claim.run.id, people, { again, numbers }))
  try {
    await write(false)
  } catch (error) {
    if (!isStagedTwice(error)) throw error
    await write(true)
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

/** All staged changes that are to be sent, in key order. */
export async function allChanges(stage: Stage): Promise<StagedChange[]> {
  return (await Array.fromAsync(stage.changes())).flat()
}

/** How many changes of a preview are kept in memory, in all and of each kind. */
export type KeptChanges = { readonly maxChanges: number; readonly maxOfKind?: number }

/** Keeps the first changes in memory, for a preview of a plan of any size. */
export function previewStage({
  maxChanges,
  maxOfKind = maxChanges,
}: KeptChanges): Stage & { readonly firstChanges: () => readonly StagedChange[] } {
  const staged = new Map<string, StagedChange>()
  const ofKind = new Map<string, number>()
  const count = ({ kind }: StagedChange['change'], by: number) => ofKind.set(kind, (ofKind.get(kind) ?? 0) + by)
  const drop = (identityId: string) => {
    const former = staged.get(identityId)
    if (former) count(former.change, -1)
    staged.delete(identityId)
  }
  return {
    async put(people) {
      for (const { identityId, change, origin } of people) {
        drop(identityId)
        if (!change || staged.size >= maxChanges || (ofKind.get(change.kind) ?? 0) >= maxOfKind) continue
        staged.set(identityId, { change, origin })
        count(change, 1)
      }
    },
    async drop(identityIds) {
      identityIds.forEach(drop)
    },
    async clear() {
      staged.clear()
      ofKind.clear()
    },
    async *changes() {},
    digest: async () => planDigest([]),
    firstChanges: () => [...staged.values()],
  }
}
