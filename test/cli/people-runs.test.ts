import { afterAll, beforeAll, expect, test } from 'vitest'
import { install } from '../helpers/installation.ts'
import { change, type Host, peopleOn, staff, startHost, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('one person is planned, delivered and accounted for, with values only where they are asked for', async () => {
  const { key, client } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  await at.writeExport(staff(20))
  await at.run('sync')
  await at.writeExport(
    change(staff(20), { id: 'E0003', title: 'Director', leavingDate: '2026-01-30' }, { id: 'E0004', title: 'Lead' }),
  )

  const planned = await at.run('plan', '--person', 'E0003')
  const synced = await at.run('sync', '--person', 'e3@acme.example', '--json')
  const again = await at.run('sync', '--person', 'E0003', '--show-values', '--json')
  const lost = await at.run('sync', '--person', 'X1')

  expect(planned).toMatchObject({ exit: 0, stdout: expect.stringContaining('Decision  leave') })
  expect(planned.stdout).toMatch(/Row {2}\S+\.csv:4/)
  expect(planned.stdout).toMatch(/Job Title\s+jobTitle\s+hidden\s+hidden/)
  expect(planned.stdout).toContain('the row states the leaving date 2026-01-30, which has come')
  expect(synced.exit).toBe(0)
  expect(JSON.parse(synced.stdout)).toMatchObject({
    feed: 'person',
    state: 'finished',
    person: {
      identityId: 'E0003',
      decision: 'leave',
      delivery: { kind: 'leave', state: 'confirmed', answer: { status: 200 }, fields: { jobTitle: { hidden: true } } },
    },
  })
  expect(synced.stdout).not.toContain('Director')
  expect(JSON.parse(again.stdout)).toMatchObject({ state: 'unchanged', person: { decision: 'none', delivery: null } })
  expect(again.stdout).toContain('Director')
  expect(lost).toMatchObject({ exit: 66, stdout: expect.stringContaining('is neither in') })
  const held = await peopleOn(client)
  expect([held.get('E0003')?.jobTitle, held.get('E0004')?.jobTitle]).toEqual(['Director', 'Engineer'])
})

test('a run is reverted by hand, and the answer says what is left to do', async () => {
  const { key, client } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  await at.writeExport(staff(20))
  await at.run('sync')
  await at.writeExport([...without(staff(20), 'E0003'), { id: 'N1', start: '2020-01-06', status: 'Active' }])
  const mistake = JSON.parse((await at.run('sync', '--json')).stdout)

  const reverted = await at.run('revert', mistake.id, '--reason', 'last year')
  const twice = await at.run('revert', mistake.id, '--reason', 'last year', '--json')

  expect(mistake.counts).toMatchObject({ leave: 1, join: 1 })
  expect(reverted.exit).toBe(0)
  expect(reverted.stdout).toContain('1 person is reset to the data from before it')
  expect(reverted.stdout).toMatch(/Joined in that run.*\(1\)\n {2}N1\n/)
  expect(reverted.stdout).toContain('the same changes are planned again, with the same guards.')
  expect((await peopleOn(client)).get('E0003')?.separatedAt).toBeNull()
  expect(twice).toMatchObject({ exit: 75, stdout: expect.stringContaining('was reverted already') })
})
