import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../schema.ts'

/** What schedules do: read the source, or verify all people or a sample on the platform. */
export const purposes = ['read', 'verify', 'sample'] as const
/** What a schedule is for. */
export type Purpose = (typeof purposes)[number]

/** The key of a slot. Two schedules at one time have two slots. */
export function slotKey({ purpose, slot }: { purpose: Purpose; slot: string }): string {
  return purpose === 'read' ? slot : `${purpose} ${slot}`
}

/** In SQL, the purpose of a slot, from its key. */
export function purposeOf(slot: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`case when ${slot} like '% %' then split_part(${slot}, ' ', 1) else 'read' end`
}

type SlotOfConnection = {
  readonly connection: string
  readonly purpose: Purpose
  readonly slot: string
  readonly now: Date
}

/** Takes a slot; false if it was taken before, so that a slot never runs twice. */
export async function takeSlot(db: Db, { connection, purpose, slot, now }: SlotOfConnection): Promise<boolean> {
  const taken = await db
    .insertInto('slots')
    .values({ connection, slot: slotKey({ purpose, slot }), taken_at: now })
    .onConflict((c) => c.doNothing())
    .executeTakeFirst()
  return (taken.numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** Whether a slot for this purpose was ever taken. */
export async function hasTakenSlots(
  db: Db,
  { connection, purpose }: { connection: string; purpose: Purpose },
): Promise<boolean> {
  const row = await db
    .selectFrom('slots')
    .select('slot')
    .where('connection', '=', connection)
    .where(sql<boolean>`${purposeOf(sql.ref('slot'))} = ${purpose}`)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}
