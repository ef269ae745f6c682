import { sql } from 'kysely'
import { controlSeed } from './control-seed.ts'
import { bodyOf, type PlatformClient, type TestPlatform } from './platforms.ts'

export type Thing = 'tests' | 'policies' | 'evidence'

export type ControlCompany = {
  readonly name: string
  readonly client: PlatformClient
  readonly workspaceId: number
  readonly otherWorkspaceId: number
  /** The ids of the seeded controls by code, of both workspaces. */
  readonly controls: Readonly<Record<string, number>>
  /** The ids of the seeded users by the part of their address before the `@`. */
  readonly users: Readonly<Record<string, number>>
  /** The ids of the evidence for its controls, by name. */
  readonly things: (table: Thing) => Promise<Readonly<Record<string, number>>>
  /** The account's events of that type, with the values that were written. */
  readonly events: (type: string) => Promise<{ description: string; metadata: Record<string, unknown> }[]>
}

/** A freshly seeded company with a key that may do everything. */
export async function newControlCompany(
  opened: TestPlatform,
  name: string,
  entitlements: readonly string[] = [],
): Promise<ControlCompany> {
  await opened.operator.seed({ body: controlSeed(name, entitlements) })
  const client = await opened.clientOf(name, 'all')
  const { db } = opened.platform.database
  const workspaces = bodyOf(await client.listWorkspaces({ query: {} }), 200).data
  const idOf = (workspaceName: string) => workspaces.find((workspace) => workspace.name === workspaceName)?.id ?? 0
  const account = await db.selectFrom('accounts').select('id').where('name', '=', name).executeTakeFirstOrThrow()
  const controls = await db.selectFrom('controls').select(['id', 'code']).where('account_id', '=', account.id).execute()
  const users = await db.selectFrom('users').select(['id', 'email']).where('account_id', '=', account.id).execute()
  return {
    name,
    client,
    workspaceId: idOf('Cloud'),
    otherWorkspaceId: idOf('Pay'),
    controls: Object.fromEntries(controls.map(({ id, code }) => [code, id])),
    users: Object.fromEntries(users.map(({ id, email }) => [email.split('@')[0] ?? '', id])),
    things: async (table) => {
      const owner = table === 'policies' ? sql`account_id = ${account.id}` : sql`workspace_id = ${idOf('Cloud')}`
      const { rows } = await sql<{ id: number; name: string }>`
        select id, name from ${sql.table(table)} where ${owner}
      `.execute(db)
      return Object.fromEntries(rows.map(({ id, name: thing }) => [thing, id]))
    },
    events: (type) =>
      db
        .selectFrom('events')
        .select(['description', 'metadata'])
        .where('account_id', '=', account.id)
        .where('type', '=', type)
        .orderBy('id')
        .execute(),
  }
}
