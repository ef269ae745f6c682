import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databases } from '../../helpers/servers/databases.ts'
import { newRecords } from '../helpers/data-records.ts'
import { newPeople } from '../helpers/people.ts'
import { openTestPlatform, type TestAccount, type TestPlatform } from '../helpers/platforms.ts'

describe.each(databases)('the events of writes to connections on $name', ({ createDatabase }) => {
  let opened: TestPlatform
  let account: TestAccount

  beforeAll(async () => {
    opened = await openTestPlatform(createDatabase)
    account = await opened.newAccount()
  })
  afterAll(async () => {
    await opened[Symbol.asyncDispose]()
  })

  /** The events about a connection: their kinds with the keys that they name. */
  async function recorded(connectionId: number): Promise<string[]> {
    const rows = await opened.platform.database.db
      .selectFrom('events')
      .select(['type', 'metadata'])
      .where('account_id', '=', account.id)
      .where('connection_id', '=', connectionId)
      .orderBy('id')
      .execute()
    return rows.map(({ type, metadata }) => {
      return [type.replace(/^(?:PROVIDER|CUSTOM_RESOURCE)_/, ''), ...idsIn(metadata)].join(' ')
    })
  }

  test('creating, changing and deleting a connection record one event each', async () => {
    const { params } = await newPeople(account.client)
    const { client } = account

    await client.updateCustomConnection({ params, body: { description: 'new' } })
    await client.updateCustomConnection({ params, body: { description: 'new' } })
    await client.updateCustomConnection({ params, body: {} })
    await client.deleteCustomConnection({ params })
    await client.deleteCustomConnection({ params })

    expect(await recorded(params.connectionId)).toEqual([
      'CONNECTION_CREATED',
      'CONNECTION_UPDATED',
      'CONNECTION_REMOVED',
    ])
  })

  test('a batch of identities is one event for what it created and one for what it changed', async () => {
    const people = await newPeople(account.client)

    await people.send({ identityId: 'a' }, { identityId: 'b' })
    await people.send({ identityId: 'a' }, { identityId: 'b', firstName: 'Bo' }, { identityId: 'c' }, { bad: true })
    await people.send({ identityId: 'a' }, { identityId: 'b' })
    await people.update('a', { firstName: 'Ana' })
    await people.update('a', { firstName: 'Ana' })
    await people.delete('a')
    await people.send({ identityId: 'a' })

    expect(await recorded(people.params.connectionId)).toEqual([
      'CONNECTION_CREATED',
      'RECORD_CREATED a b',
      'RECORD_CREATED c',
      'RECORD_UPDATED b',
      'RECORD_UPDATED a',
      'RECORD_REMOVED a',
      'RECORD_UPDATED a',
    ])
  })

  test('created, changed and deleted records have events', async () => {
    const hosts = await newRecords(opened, account)

    await hosts.send([{ id: 'a', hostname: 'one' }, { id: 'b', hostname: 'one' }, { id: 'bad' }])
    await hosts.send([
      { id: 'a', hostname: 'one' },
      { id: 'b', hostname: 'two' },
      { id: 'c', hostname: 'one' },
    ])
    await hosts.send([{ id: 'a', hostname: 'one' }, { id: 'bad' }])
    await hosts.update('a', { cpus: 1 })
    await hosts.update('a', { cpus: 1 })
    await hosts.delete('b')
    await hosts.delete('b')

    expect(await recorded(hosts.params.connectionId)).toEqual([
      'CONNECTION_CREATED',
      'RECORD_CREATED a b',
      'RECORD_CREATED c',
      'RECORD_UPDATED b',
      'RECORD_UPDATED a',
      'RECORD_REMOVED b',
    ])
  })

  test('a session records what it staged, replaced and discarded', async () => {
    const hosts = await newRecords(opened, account)
    await hosts.send({ id: 'old', hostname: 'one' })

    await hosts.stage('one', [{ id: 'a', hostname: 'one' }])
    await hosts.act('one', 'complete')
    await hosts.act('one', 'complete')
    await hosts.stage('two', [{ id: 'b', hostname: 'one' }])
    await hosts.act('two', 'cancel')

    expect(await recorded(hosts.params.connectionId)).toEqual([
      'CONNECTION_CREATED',
      'RECORD_CREATED old',
      'RECORD_CREATED a',
      'RECORD_REMOVED old',
      'RECORD_UPDATED',
      'RECORD_CREATED b',
      'RECORD_REMOVED b',
    ])
  })

  test('an event counts everything and names the first thousand', async () => {
    const hosts = await newRecords(opened, account)
    await hosts.send(Array.from({ length: 1500 }, (_, index) => ({ id: `r${index}`, hostname: 'one' })))
    await hosts.stage('one', { id: 'a', hostname: 'one' })
    await hosts.act('one', 'complete')

    const rows = await opened.platform.database.db
      .selectFrom('events')
      .select(['description', 'metadata', 'user_id', 'request_description'])
      .where('connection_id', '=', hosts.params.connectionId)
      .where('description', 'like', '1500 %')
      .orderBy('id')
      .execute()

    const { connectionId } = hosts.params
    expect(rows).toMatchObject([
      {
        description: `1500 records of custom connection ${connectionId} were created`,
        user_id: expect.any(Number),
        request_description: 'POST /custom-connections/:connectionId/resources/:resourceId/records',
      },
      { description: `1500 records of custom connection ${connectionId} were removed` },
    ])
    expect(rows.map(({ metadata }) => idsIn(metadata).length)).toEqual([1000, 1000])
  })
})

function idsIn(metadata: Record<string, unknown>): readonly string[] {
  return (metadata.targets as { ids: string[] } | undefined)?.ids ?? []
}
