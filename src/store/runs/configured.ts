import { sql } from 'kysely'
import type { Db } from '../schema.ts'

const acceptedStates = ['delivering', 'finished', 'finished_with_problems', 'unchanged'] as const

type UsedConfiguration = {
  readonly connection: string
  readonly configuration: string
  readonly startedBy: string | null
}

/** Records the configuration that plans of a connection are made with, and who started the first process that used it. */
export async function recordConfiguration(
  tx: Db,
  { connection, configuration, startedBy }: UsedConfiguration,
): Promise<void> {
  await tx
    .updateTable('connections')
    .set({ configuration, configured_by: startedBy })
    .where('name', '=', connection)
    .where(sql<boolean>`configuration is distinct from ${configuration}`)
    .execute()
}

/**
 * Who started the first process with this configuration; null if the newest accepted plan was already made with it, or if it is unknown.
 */
export async function configuredBy(
  db: Db,
  { connection, configuration }: { connection: string; configuration: string },
): Promise<string | null> {
  const accepted = await db
    .selectFrom('runs')
    .select('configuration')
    .where('connection', '=', connection)
    .where('state', 'in', acceptedStates)
    .where('configuration', 'is not', null)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (accepted?.configuration === configuration) return null
  const known = await db
    .selectFrom('connections')
    .select('configured_by')
    .where('name', '=', connection)
    .where('configuration', '=', configuration)
    .executeTakeFirst()
  return known?.configured_by ?? null
}

/** The newest run of a connection whose plan was accepted; null if there is none. */
export async function newestAccepted(db: Db, connection: string): Promise<string | null> {
  const run = await db
    .selectFrom('runs')
    .select('id')
    .where('connection', '=', connection)
    .where('state', 'in', acceptedStates)
    .orderBy('created_at', 'desc')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  return run?.id ?? null
}
