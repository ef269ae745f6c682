import { afterAll, beforeAll, expect, test } from 'vitest'
import { install } from '../../helpers/installation.ts'
import { type Host, peopleOn, staff, startHost, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('an operator states that keys were issued again, and keeps a person whom HR lists as left', async () => {
  const { key, client } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  const company = staff(12)
  const reissued = company.map((person) => (person.id === 'E0003' ? { ...person, id: 'N3', title: 'Lead' } : person))
  await at.writeExport(company)
  await at.run('sync')
  await at.writeExport(without(reissued, 'E0004'))

  const held = await at.run('sync')
  const { document } = await at.json<{ pairs: { runId: string; former: string; identityId: string }[] }>('alias')
  const runId = document.pairs[0]?.runId ?? ''
  const answered = await at.run('alias', '--run', runId, '--all', '--by', 'ana')
  const approved = await at.run('approve', runId, '--yes')
  const kept = await at.run('hold-back', 'E0004', '--until', inDays(30), '--reason', 'HR mends it', '--by', 'ana')

  expect([held.exit, held.stdout]).toEqual([65, expect.stringContaining('1 person seems to have got a new key')])
  expect(document.pairs).toMatchObject([{ former: 'E0003', identityId: 'N3' }])
  expect(answered.stdout).toContain('1 pair is answered; approve the held run')
  expect([approved.exit, kept.exit]).toEqual([0, 0])
  expect(kept.stdout).toContain('departures of E0004 are held back until')
  const people = await peopleOn(client)
  expect([...people.keys()]).toHaveLength(12)
  expect(people.get('E0003')).toMatchObject({ jobTitle: 'Lead', separatedAt: null })
  expect(people.get('E0004')?.separatedAt).toBeNull()
})

test.each([
  [['alias', 'E0001'], 'give both keys'],
  [['alias', '--all'], '--run and --all go together'],
  [['alias', '--two-people'], '--two-people takes two keys'],
  [['alias', 'E0001', 'N1', '--undo', '--two-people'], '--undo takes the two keys'],
  [['hold-back', 'E0001', '--until', '2026-12-01'], 'give a key with --until and --reason'],
  [['hold-back', '--end'], 'give a key with --until and --reason'],
])('invalid arguments are refused: %j', async ([command = '', ...args], sentence) => {
  await using at = await install({ baseUrl: host.platform.baseUrl, key: 'none' })

  const { exit, stderr } = await at.run(command, ...args)

  expect([exit, stderr]).toEqual([2, expect.stringContaining(sentence)])
})

function inDays(days: number): string {
  return Temporal.Now.plainDateISO('UTC').add({ days }).toString()
}
