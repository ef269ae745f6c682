import { sql } from 'kysely'
import type { ProcessInfo, SettingsDigests } from '../schema/process-info.ts'
import type { Db } from '../schema.ts'
import { isProcessAlive } from './leases.ts'

type KnownProcess = ProcessInfo & { readonly lease: number; readonly seenAt: Date }

/** The live processes of the daemon, the oldest first. Commands are not included. */
export async function processes(db: Db): Promise<KnownProcess[]> {
  const { rows } = await sql<{ id: number; seen_at: Date; process: ProcessInfo }>`
    select id, seen_at, process from leases
    where process is not null and ${isProcessAlive(sql`leases.id`)}
    order by process ->> 'since', id`.execute(db)
  return rows.map(({ id, seen_at, process }) => ({ ...process, lease: id, seenAt: seen_at }))
}

/** The name of the settings that belong to no connection. */
const generalSettings = 'general'

/** The settings in which two processes differ: connections by name, and `general`. */
export function differences(a: SettingsDigests, b: SettingsDigests): string[] {
  const names = [...new Set([...Object.keys(a.connections), ...Object.keys(b.connections)])].sort()
  const differing = names.filter((name) => a.connections[name] !== b.connections[name])
  return a.general === b.general ? differing : [...differing, generalSettings]
}
