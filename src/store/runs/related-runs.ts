import { sql } from 'kysely'
import type { Run as ShownRun } from '../../contract/control/shapes.ts'
import type { Db } from '../schema.ts'
import { heldInPlaceOf } from './held-runs.ts'
import { getRun } from './runs.ts'

type RunFacts = Pick<ShownRun, 'id' | 'connection' | 'feed' | 'state' | 'createdAt' | 'heldPart'>

/** The runs that belong to one run, as they are now. */
type RelatedRuns = Required<Pick<ShownRun, 'heldPartRun' | 'heldPartOf' | 'instead'>>

/** Finds the run of the people whom a guard stopped, the run that went on without them, and the held run that took the place of a superseded one. */
export async function relatedRuns(db: Db, run: RunFacts): Promise<RelatedRuns> {
  return {
    heldPartRun: await heldPartRun(db, run),
    heldPartOf: await heldPartOf(db, run),
    instead: await instead(db, run),
  }
}

async function heldPartRun(db: Db, { heldPart }: RunFacts): Promise<RelatedRuns['heldPartRun']> {
  const held = heldPart === null ? null : await getRun(db, heldPart)
  if (held === null) return null
  const { join = 0, update = 0, leave = 0, return: returns = 0, correct = 0, retract = 0 } = held.counts ?? {}
  return {
    runId: held.id,
    state: held.state,
    people: join + update + leave + returns + correct + retract,
    reason: held.reason,
    decidedBy: held.decidedBy,
    replacedBy: (await instead(db, held))?.runId ?? null,
  }
}

async function heldPartOf(db: Db, { id }: RunFacts): Promise<string | null> {
  const whole = await db.selectFrom('runs').select('id').where('held_part_run_id', '=', id).executeTakeFirst()
  return whole?.id ?? null
}

/** An export, and the roster, are planned anew each time, and a newer held plan takes the place of the one before. */
async function instead(db: Db, { id, connection, feed, state, createdAt }: RunFacts): Promise<RelatedRuns['instead']> {
  if (state !== 'superseded' || (feed !== 'source' && feed !== 'roster')) return null
  const newer = await db
    .selectFrom('runs')
    .select('id')
    .where('connection', '=', connection)
    .where('feed', '=', feed)
    .where('state', '=', 'held')
    .where('created_at', '>=', new Date(createdAt))
    .where(sql<boolean>`not options ? 'retract'`)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .executeTakeFirst()
  return newer === undefined ? null : { runId: newer.id, isSame: (await heldInPlaceOf(db, id)) === newer.id }
}
