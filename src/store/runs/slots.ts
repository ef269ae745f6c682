import { type RawBuilder, sql } from 'kysely'
import type { Db } from '../schema.ts'

/** What a connection does by a schedule: it reads its source, or it reads back what the platform holds, of everybody or of some. */
export const purposes = ['read', 'verify', 'sample'] as const
export type Purpose = (typeof purposes)[number]

/** A slot by the name under which it is taken: two schedules that meet at one time have two slots there. */
export function slotKey({ purpose, slot }: { purpose: Purpose; slot: string }): string {
  return purpose === 'read' ? slot : `${purpose} ${slot}`
}

/** The purpose of a slot, in SQL, by the name under which it was taken. */
export function purposeOf(slot: RawBuilder<unknown>): RawBuilder<unknown> {
  return sql`case when ${slot} like '% %' then split_part(${slot}, ' ', 1) else 'read' end`
}

type SlotOfConnection = {
  readonly connection: string
  readonly purpose: Purpose
  readonly slot: string
  readonly now: Date
}

/** Takes a slot; false where it was taken before, so that one night never runs twice. */
export async function takeSlot(db: Db, { connection, purpose, slot, now }: SlotOfConnection): Promise<boolean> {
  const taken = await db
    .insertInto('slots')
    .values({ connection, slot: slotKey({ purpose, slot }), taken_at: now })
    .onConflict((c) => c.doNothing())
    .executeTakeFirst()
  return (taken.numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** True where a slot for this purpose was taken before. */
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
