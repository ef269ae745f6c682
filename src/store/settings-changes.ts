import type { Db, Requester } from './schema.ts'

/** A change of a connection's settings in the file of the configuration. Secrets are in its texts as references only. */
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

/** Stores a change that is saved now. Former ones stay until it is, so that they can be undone if it fails. */
export async function storeSavedChange(tx: Db, change: Omit<SettingsChange, 'expiresAt'>): Promise<void> {
  await insert(tx, { ...change, expiresAt: null })
}

/** Removes the saved changes of a file but this one. */
export async function removeFormerChanges(db: Db, { id, file }: Pick<SettingsChange, 'id' | 'file'>): Promise<void> {
  await db
    .deleteFrom('settings_changes')
    .where('file', '=', file)
    .where('id', '!=', id)
    .where('expires_at', 'is', null)
    .execute()
}

/** Stores a change that waits, in place of the one of its connection that waited before. */
export async function storeWaitingChange(tx: Db, change: SettingsChange): Promise<void> {
  await tx
    .deleteFrom('settings_changes')
    .where('connection', '=', change.connection)
    .where('expires_at', 'is not', null)
    .execute()
  await insert(tx, change)
}

async function insert(tx: Db, { by, at, expiresAt, ...change }: SettingsChange): Promise<void> {
  await tx
    .insertInto('settings_changes')
    .values({ ...change, changed_by: by, changed_at: at, expires_at: expiresAt })
    .execute()
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
    .orderBy('changed_at', 'desc')
    .executeTakeFirst()
  return row ?? null
}

/** Removes a change. False if it is not there any more. */
export async function removeChange(tx: Db, id: string): Promise<boolean> {
  const { numDeletedRows } = await tx.deleteFrom('settings_changes').where('id', '=', id).executeTakeFirst()
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
