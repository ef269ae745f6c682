import pg from 'pg'

/**
 * Seconds that plain statements take for the result of a first identity sync: matches by address, a user and a person for everybody
 * else, and their status. They ignore names, former addresses and people with several records.
 */
export async function bareSync(database: string, accountId: number): Promise<number> {
  const client = new pg.Client({ connectionString: database, options: '-c search_path=platform' })
  await client.connect()
  try {
    const began = performance.now()
    await client.query('begin')
    for (const statement of statements) await client.query(statement, [accountId])
    await client.query('commit')
    return (performance.now() - began) / 1000
  } finally {
    await client.end()
  }
}

const statements = [
  `insert into users (account_id, email, first_name, last_name, origin, created_at, updated_at)
   select $1, email, first_name, last_name, 'identity_sync', now(), now()
   from hris_user_identities
   where connection_id in (select id from custom_connections where account_id = $1) and deleted_at is null
   on conflict do nothing`,
  `insert into identity_matches (identity_row_id, user_id)
   select identity.id, users.id
   from hris_user_identities as identity
   join users on users.account_id = $1 and lower(users.email) = lower(identity.email)
   where connection_id in (select id from custom_connections where account_id = $1) and deleted_at is null`,
  `insert into personnel (account_id, user_id, employment_status, started_at, separated_at, created_at, updated_at)
   select $1, user_id,
     case
       when separated_at <= now() then case when is_contractor then 'FORMER_CONTRACTOR' else 'FORMER_EMPLOYEE' end
       when started_at > now() then 'FUTURE_HIRE'
       when is_contractor then 'CURRENT_CONTRACTOR'
       else 'CURRENT_EMPLOYEE'
     end, started_at, separated_at, now(), now()
   from identity_matches
   join hris_user_identities as identity on identity.id = identity_row_id
   join custom_connections as connection on connection.id = identity.connection_id and connection.account_id = $1
   on conflict (user_id) do update
   set employment_status = excluded.employment_status, started_at = excluded.started_at, separated_at = excluded.separated_at`,
  `select employment_status, count(*) from personnel where account_id = $1 group by employment_status`,
]
