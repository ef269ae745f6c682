import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'
import { databaseOperator } from '../../../src/platform/operators/operator.ts'
import { listFindings } from '../../../src/store/effective/findings.ts'
import { compareEffective } from '../../../src/sync/sync.ts'
import { openWorld, staff, startHost } from '../../helpers/world.ts'

const size = 100_000
const mapping = Mapping.parse({
  fields: {
    identityId: 'Worker ID',
    email: 'Email',
    firstName: 'First Name',
    isContractor: { column: 'Status', map: { '*': false } },
  },
})

test('a comparison of 100,000 people takes less than 250 requests and 60 seconds of CPU', {
  tags: ['full'],
  timeout: 600_000,
}, async () => {
  await using host = await startHost()
  const { name, client } = await host.tenant()
  await using world = await openWorld({ client, feed: { mapping } })
  await world.night(staff(30))
  const platformDb = host.platform.database.db
  await sql`
    insert into platform.hris_user_identities (connection_id, identity_id, email, first_name, is_contractor, created_at, updated_at)
    select connection_id, 'P' || n, 'p' || n || '@acme.example', 'Nth ' || n, false, now(), now()
    from generate_series(1, ${size}::int) as n, (select connection_id from platform.hris_user_identities
      join platform.custom_connections as connection on connection.id = connection_id
      join platform.accounts as account on account.id = connection.account_id where account.name = ${name} limit 1) as one`.execute(
    platformDb,
  )
  await sql`
    insert into rollcall.roster (connection, identity_id, desired, as_of)
    select 'acme', 'P' || n, jsonb_build_object('identityId', 'P' || n, 'email', 'p' || n || '@acme.example',
      'firstName', 'Nth ' || n, 'isContractor', false, 'separatedAt', null), now()
    from generate_series(1, ${size}::int) as n`.execute(world.sync.store.db)
  await databaseOperator(platformDb).syncIdentities({ body: { account: name } })
  // Sixty people are out of scope by hand.
  await sql`
    update platform.personnel set employment_status = 'OUT_OF_SCOPE', status_updated_at = now(), not_human_reason = 'a robot'
    where id in (select person.id from platform.personnel as person join platform.users on users.id = user_id
      where email like 'p100__@acme.example' and email < 'p10060@')`.execute(platformDb)
  world.clock.now = new Date()
  const before = process.cpuUsage()

  const result = await compareEffective(world.sync, { always: true, signal: new AbortController().signal })

  // The platform runs in this process too, so the daemon alone takes less.
  const { user, system } = process.cpuUsage(before)
  const findings = await listFindings(world.sync.store.db, { connections: ['acme'], limit: 1000 })
  process.stdout.write(
    `${result?.requests} requests, ${((user + system) / 1e6).toFixed(1)} s CPU, ${findings.length} findings\n`,
  )
  expect(new Set(findings.map(({ cause }) => cause))).toEqual(new Set(['out_of_scope']))
  expect(result?.requests).toBeLessThan(250)
  expect((user + system) / 1e6).toBeLessThan(60)
})
