import { afterAll, beforeAll, expect, test } from 'vitest'
import { install } from '../helpers/installation.ts'
import { postgresPlace } from '../helpers/servers/databases.ts'
import { change, type Host, peopleOn, staff, startHost, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('a connection that keeps no values says so wherever one would stand, and a new key changes nobody', async () => {
  const { key, client } = await host.tenant()
  await using place = await postgresPlace()
  await using at = await install({ baseUrl: host.platform.baseUrl, key })
  await at.configure({ database: place.at, connection: '    keepValues: false\n' })
  await at.hrSays(staff(20))
  await at.run('sync')
  await at.hrSays(change(without(staff(20), 'E0004'), { id: 'E0003', title: 'Director' }))

  const planned = await at.run('plan', '--show-values', '--json')
  const synced = await at.run('sync', '--json')
  const { id } = JSON.parse(synced.stdout)
  const run = await at.run('run', id, '--json', '--show-values')
  const person = await at.run('person', 'E0003')
  const account = await at.run('sync', '--person', 'e5@acme.example', '--json', '--show-values')
  const replaced = await at.run('audit', 'new-key', '--reason', 'a test')
  const again = await at.run('sync', '--json')
  const verified = await at.run('audit', 'verify')

  expect(JSON.parse(planned.stdout).changes).toMatchObject([
    { identityId: 'E0003', fields: { jobTitle: { from: { gone: true }, to: 'Director' } } },
    { identityId: 'E0004', kind: 'leave' },
  ])
  expect(synced.exit).toBe(0)
  expect(JSON.stringify(JSON.parse(run.stdout))).not.toMatch(/Director|Engineer|\\u0001/)
  expect(person.stdout).toMatch(/jobTitle +value not kept +value not kept/)
  expect(person.stdout).toContain('jobTitle (value not kept)')
  expect(JSON.parse(account.stdout)).toMatchObject({
    state: 'unchanged',
    person: { identityId: 'E0005', decision: 'none' },
  })
  expect(account.stdout).not.toContain('e5@acme.example')
  expect(replaced.exit).toBe(0)
  expect(JSON.parse(again.stdout)).toMatchObject({ state: 'unchanged', counts: { unchanged: 19 } })
  expect(verified.exit).toBe(0)
  expect((await peopleOn(client)).get('E0003')).toMatchObject({ jobTitle: 'Director', firstName: 'Person 3' })
})
