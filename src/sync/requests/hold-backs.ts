import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import { addHoldBack, dropHoldBack, type HoldBack, holdBacks, makePersonDue } from '../../store/hold-backs.ts'
import { markPlansOutdated, resolveKey } from '../../store/key-answers.ts'
import { rosterEntry } from '../../store/roster/roster.ts'
import { addWaitingRun } from '../../store/runs/runs.ts'
import type { Db } from '../../store/schema.ts'
import { dropStatedDeparture, statedDeparture } from '../../store/stated-departures.ts'
import { requireConnection, type SyncContext } from '../context/context.ts'
import { refuseWhilePlanning } from '../context/refuse-while-planning.ts'
import { sweep } from '../run/sweep.ts'
import { readDay, todayOf } from './days.ts'

/** HR fixes a mistake within this time. */
const maxDays = 366

type Person = { readonly connection: string; readonly identityId: string }

/** The person, the day on which a departure applies again (null: the hold-back has ended), and the roster run that follows at once, if any. */
type HeldBack = { readonly identityId: string; readonly until: string | null; readonly runId: string | null }

/**
 * Holds departures of a person back until a day: a departure that HR states is stored, and sent on that day unless HR withdraws it before. A
 * roster run, which needs no export, brings a separated person back.
 */
export async function holdBack(
  ctx: SyncContext,
  { until, reason, by, ...person }: Person & { until: string; reason: string; by: string },
): Promise<HeldBack> {
  const connection = requireConnection(ctx, person.connection)
  const now = ctx.now()
  const today = todayOf(connection, now)
  const day = dayOf(until, today)
  const runId = await ctx.store.db.transaction().execute(async (tx) => {
    await refuseWhilePlanning(tx, connection.name)
    const named = { connection: connection.name, identityId: await resolveKey(tx, person) }
    const entry = await rosterEntry(tx, named)
    if (!entry || (entry.desired ?? entry.confirmed) === null)
      throw new Failure('not_found', `"${connection.name}" has no person ${person.identityId}`)
    if (entry.retracted)
      throw new Failure('conflict', `person ${named.identityId} was retracted at ${entry.retracted.at}`)
    if (entry.forgotten)
      throw new Failure(
        'conflict',
        `person ${named.identityId} was forgotten: there is no former record to come back with`,
      )
    const stated = await statedDeparture(tx, named)
    if (stated !== null && !stated.isLearned)
      throw new Failure(
        'conflict',
        `the departure of ${named.identityId} is stated: withdraw it first (rollcall leave --withdraw)`,
      )
    const [already] = await holdBacks(tx, { ...named, today })
    if (already)
      throw new Failure(
        'conflict',
        `person ${named.identityId} is held back until ${already.until} already, by ${already.by}: end that first (--end)`,
      )
    // After a restore, only the platform shows this departure. Holding it back decides about it.
    if (stated !== null) await dropStatedDeparture(tx, named)
    await addHoldBack(tx, { ...named, until: day, reason, by, now, today })
    await recordAuditEntry(tx, { act: 'hold_back.placed', ...named, by, details: { until: day, reason }, now })
    return await planAgain(tx, named, {
      reason: `the departure of 1 person in it is held back until ${day}, by ${by}`,
      now,
    })
  })
  ctx.events.departureHeldBack({ ...person, by, until: day })
  if (runId !== null) await sweep(ctx)
  return { identityId: person.identityId, until: day, runId }
}

/** Ends a hold-back before its day: what HR states about the departure of the person applies again. */
export async function endHoldBack(ctx: SyncContext, { by, ...person }: Person & { by: string }): Promise<HeldBack> {
  const connection = requireConnection(ctx, person.connection)
  const now = ctx.now()
  const runId = await ctx.store.db.transaction().execute(async (tx) => {
    await refuseWhilePlanning(tx, connection.name)
    const named = { connection: connection.name, identityId: await resolveKey(tx, person) }
    const [known] = await holdBacks(tx, { ...named, today: todayOf(connection, now) })
    if (!known || !(await dropHoldBack(tx, named)))
      throw new Failure('not_found', `no departure of person ${named.identityId} is held back`)
    await recordAuditEntry(tx, { act: 'hold_back.ended', ...named, by, now })
    return await planAgain(tx, named, {
      reason: `the departure of 1 person in it is no longer held back, by ${by}`,
      now,
    })
  })
  ctx.events.departureHeldBack({ ...person, by, until: null })
  if (runId !== null) await sweep(ctx)
  return { identityId: person.identityId, until: null, runId }
}

/** The people of a connection whose departure is held back now. */
export async function listHoldBacks(ctx: SyncContext, name: string): Promise<HoldBack[]> {
  const connection = requireConnection(ctx, name)
  return await holdBacks(ctx.store.db, { connection: name, today: todayOf(connection, ctx.now()) })
}

/** The hold-back of a person; null if there is none. */
export async function holdBackOf(ctx: SyncContext, { connection: name, identityId }: Person): Promise<HoldBack | null> {
  const today = todayOf(requireConnection(ctx, name), ctx.now())
  const [active] = await holdBacks(ctx.store.db, { connection: name, identityId, today })
  return active ?? null
}

/** Marks held plans that mention the person as outdated, and requests a roster run if the person is due. Returns that run. */
async function planAgain(
  tx: Db,
  { connection, identityId }: Person,
  { reason, now }: { reason: string; now: Date },
): Promise<string | null> {
  await markPlansOutdated(tx, { connection, identityIds: [identityId], reason })
  if (!(await makePersonDue(tx, { connection, identityId, now }))) return null
  return await addWaitingRun(tx, { connection, feed: 'roster', trigger: 'operator', options: {}, now })
}

function dayOf(text: string, today: string): string {
  const day = readDay(text)
  const ahead = Temporal.PlainDate.from(today).until(day).days
  if (ahead < 1) throw new Failure('usage', `${text} is not in the future: today is ${today}`)
  if (ahead > maxDays)
    throw new Failure(
      'usage',
      `${text} is more than a year ahead: choose a day by which HR will have corrected its data`,
    )
  return day.toString()
}
