import type { Db, Requester } from './schema.ts'

/** A change of a connection's settings in the file of the configuration. A secret that the file has as a text is in its texts. */
export type SettingsChange = Requester & {
  readonly id: string
  readonly connection: string
  readonly file: string
  /** The text of the whole file. */
  readonly before: string
  readonly after: string
  readonly at: Date
  /** Until when a second person may approve it; null: it was saved. */
  readonly expiresAt: Date | null
}

/**
 * Stores a change whose file is replaced next. One that waited is no longer approved by anybody else. False: another change of the file is
 * being written, or this one waited and does not any more. Throws if another one begins at the same moment.
 */
export async function beginWriting(tx: Db, { expiresAt, ...change }: SettingsChange, now: Date): Promise<boolean> {
  const values = { ...toRow({ ...change, expiresAt: null }), writing_since: now }
  if (expiresAt === null) {
    const written = await tx
      .insertInto('settings_changes')
      .values(values)
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirst()
    return written.numInsertedOrUpdatedRows === 1n
  }
  const { numUpdatedRows } = await tx
    .updateTable('settings_changes')
    .set({ expires_at: null, writing_since: now })
    .where('id', '=', change.id)
    .where('expires_at', 'is not', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** The change whose file is being replaced, or was when its process ended, and since when; null if there is none. */
export async function beingWritten(db: Db, file: string): Promise<(SettingsChange & { readonly since: Date }) | null> {
  const row = await select(db)
    .select('writing_since as since')
    .where('file', '=', file)
    .where('writing_since', 'is not', null)
    .$narrowType<{ since: Date }>()
    .executeTakeFirst()
  return row ?? null
}

/** Ends the writing of a change whose file was replaced, and removes the former ones of the file. */
export async function endWriting(tx: Db, { id, file }: Pick<SettingsChange, 'id' | 'file'>): Promise<void> {
  await tx
    .deleteFrom('settings_changes')
    .where('file', '=', file)
    .where('id', '!=', id)
    .where('expires_at', 'is', null)
    .execute()
  await tx.updateTable('settings_changes').set({ writing_since: null }).where('id', '=', id).execute()
}

/** Takes a change back whose file was not replaced: one that had waited (`expiresAt`) waits again. False: somebody else has ended it. */
export async function takeBack(tx: Db, { id, expiresAt }: Pick<SettingsChange, 'id' | 'expiresAt'>): Promise<boolean> {
  if (expiresAt === null) {
    const { numDeletedRows } = await tx
      .deleteFrom('settings_changes')
      .where('id', '=', id)
      .where('writing_since', 'is not', null)
      .executeTakeFirst()
    return numDeletedRows === 1n
  }
  const { numUpdatedRows } = await tx
    .updateTable('settings_changes')
    .set({ expires_at: expiresAt, writing_since: null })
    .where('id', '=', id)
    .where('writing_since', 'is not', null)
    .executeTakeFirst()
  return numUpdatedRows === 1n
}

/** Stores a change that waits, in place of the one of its connection that waited before. */
export async function storeWaitingChange(tx: Db, change: SettingsChange): Promise<void> {
  await tx
    .deleteFrom('settings_changes')
    .where('connection', '=', change.connection)
    .where('expires_at', 'is not', null)
    .execute()
  await tx.insertInto('settings_changes').values(toRow(change)).execute()
}

function toRow({ by, at, expiresAt, ...change }: SettingsChange) {
  return { ...change, changed_by: by, changed_at: at, expires_at: expiresAt }
}

/** The change of a connection that waits for a second person; null if none does, or if it has expired. */
export async function waitingChange(
  db: Db,
  { connection, now }: { readonly connection: string; readonly now: Date },
): Promise<SettingsChange | null> {
  const row = await select(db).where('connection', '=', connection).where('expires_at', '>', now).executeTakeFirst()
  return row ?? null
}

/** The newest saved change that made this text of a file; null if there is none. */
export async function savedChange(
  db: Db,
  { file, after }: Pick<SettingsChange, 'file' | 'after'>,
): Promise<SettingsChange | null> {
  const row = await select(db)
    .where('file', '=', file)
    .where('after', '=', after)
    .where('expires_at', 'is', null)
    .where('writing_since', 'is', null)
    .orderBy('changed_at', 'desc')
    .executeTakeFirst()
  return row ?? null
}

/** Removes a change that waits. False if it does not any more. */
export async function removeWaiting(tx: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx
    .deleteFrom('settings_changes')
    .where('id', '=', id)
    .where('expires_at', 'is not', null)
    .executeTakeFirst()
  return numDeletedRows > 0n
}

function select(db: Db) {
  return db
    .selectFrom('settings_changes')
    .select([
      ...(['id', 'connection', 'file', 'before', 'after', 'principal'] as const),
      'changed_by as by',
      'changed_at as at',
      'expires_at as expiresAt',
    ])
}
