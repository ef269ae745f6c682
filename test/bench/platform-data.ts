import pg from 'pg'
import { openPlatformDatabase } from '../../src/platform/core/database.ts'
import { databaseOperator } from '../../src/platform/operators/operator.ts'
import { readSeed } from '../../src/platform/seed/file.ts'

export type Sizes = { readonly identities: number; readonly assets: number; readonly controls: number }

/** The ids of the new objects, whose lists are requested. */
export type Filled = { readonly accountId: number; readonly connectionId: number; readonly workspaceId: number }

/** Fills an empty database with the seeded account and this many rows of each kind, without a platform. */
export async function fillPlatform(database: string, seed: string, sizes: Sizes): Promise<Filled> {
  await seedPlatform(database, seed)
  const client = new pg.Client({ connectionString: database, options: '-c search_path=platform' })
  await client.connect()
  try {
    const { accountId, userId, workspaceId } = await firstIds(client)
    const connectionId = await newConnection(client, { accountId, userId })
    await client.query(identitiesSql, [connectionId, sizes.identities])
    await client.query(assetsSql, [accountId, userId, sizes.assets])
    await client.query(controlsSql, [accountId, workspaceId, sizes.controls])
    await client.query('vacuum analyze')
    return { accountId, connectionId, workspaceId }
  } finally {
    await client.end()
  }
}

/** A connection of people, as the API would make it. */
export async function newConnection(
  client: pg.Client,
  { accountId, userId }: { readonly accountId: number; readonly userId: number },
): Promise<number> {
  const { rows } = await client.query(
    `insert into custom_connections (account_id, provider_type, client_alias, created_by_id, created_at, updated_at)
     values ($1, 'HRIS', 'HR', $2, now(), now()) returning id`,
    [accountId, userId],
  )
  return Number(rows[0].id)
}

// Times are a millisecond apart, so that the order of rows is certain.
const identitiesSql = `
  insert into hris_user_identities (connection_id, identity_id, email, first_name, last_name, job_title, manager_id,
    started_at, separated_at, is_contractor, created_at, updated_at)
  select $1, 'E' || n, 'person' || n || '@acme.example', 'Given' || n % 9973, 'Family' || n % 7919, 'Engineer', 'E' || n / 10,
    timestamptz '2015-01-01Z' + n % 4000 * interval '1 day', case when n % 20 = 0 then timestamptz '2024-01-01Z' end, n % 10 = 0,
    at, at
  from generate_series(1, $2::int) as n, lateral (select timestamptz '2026-01-01Z' + n * interval '1 ms' as at) as moment`

const assetsSql = `
  insert into assets (account_id, name, description, asset_type, provider, owner_id, created_at, updated_at)
  select $1, 'Laptop ' || n, 'One of many', 'PHYSICAL', 'DRATA', $2, at, at
  from generate_series(1, $3::int) as n, lateral (select timestamptz '2026-01-01Z' + n * interval '1 ms' as at) as moment`

const controlsSql = `
  insert into controls (account_id, workspace_id, name, code, description, is_enabled, created_at, updated_at)
  select $1, $2, 'Control ' || n, 'BEN-' || n, 'One of many', true, at, at
  from generate_series(1, $3::int) as n, lateral (select timestamptz '2026-01-01Z' + n * interval '1 ms' as at) as moment`

async function seedPlatform(database: string, seed: string): Promise<void> {
  await using platform = await openPlatformDatabase(database)
  await databaseOperator(platform.db).seed({ body: await readSeed(seed) })
}

async function firstIds(client: pg.Client) {
  const { rows } = await client.query(
    `select account_id, id as user_id, (select min(id) from workspaces) as workspace_id from users order by id limit 1`,
  )
  const [{ account_id, user_id, workspace_id }] = rows
  return { accountId: Number(account_id), userId: Number(user_id), workspaceId: Number(workspace_id) }
}
