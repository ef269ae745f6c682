import { afterAll, beforeAll, expect, test } from 'vitest'
import { install } from '../helpers/installation.ts'
import { change, type Host, staff, startHost, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('problems list leavers first, with why they wait', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  await at.writeExport(staff(5))
  await at.run('sync')
  await at.setKey('wrong')
  await at.writeExport(change(without(staff(5), 'E0004'), { id: 'E0002', title: 'Lead' }))
  await at.run('sync')

  const { exit, document } = await at.json<{ problems: object[] }>('problems')
  const named = await at.json<{ problems: object[] }>('problems', '--show-values')

  expect(exit).toBe(0)
  expect(JSON.stringify(document)).not.toContain('"name"')
  expect(named.document.problems).toMatchObject([
    { identityId: 'E0004', name: 'Person 4' },
    { identityId: 'E0002', name: 'Person 2' },
  ])
  expect(document.problems).toMatchObject([
    { identityId: 'E0004', kind: 'leave', leaver: true, state: 'undelivered', code: 'key_refused' },
    { identityId: 'E0002', kind: 'update', leaver: false, state: 'undelivered', code: 'key_refused' },
  ])
})

test('the same broken rows every night stay listed, hold nothing, and list possible leavers first', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  const disabled = ['E0001', 'E0002', 'E0003', 'E0005'].map((id) => ({ id, email: 'DISABLED' }))
  const people = change(staff(20), ...disabled, { id: 'E0004', leavingDate: '31/02/2025' })
  await at.writeExport(people)
  await at.run('sync')
  await at.writeExport([...people, { id: 'E0021', email: 'e21@acme.example', status: 'Active' }])
  const second = await at.run('sync')
  await at.writeExport([...people, { id: 'E0021', email: 'e21@acme.example', status: 'Active' }].toReversed())
  const third = await at.run('sync')

  const listed = await at.run('problems')
  const { document } = await at.json<{ blockedPeople: object[]; unserved: object[] }>('problems')
  const status = await at.run('status')

  const line = `! acme: 5 people need attention, 1 of them may have left: rollcall --config ${at.configFile} problems`
  expect([second, third].map(({ exit }) => exit)).toEqual([0, 0])
  expect(second.stdout).toContain(`1 change delivered`)
  expect(second.stdout).toContain(line)
  expect(third.stdout).toBe(`✔ acme: nothing to change (21 unchanged, 5 rows with bad cells)\n${line}\n`)
  expect(listed.stdout.split('\n').slice(0, 3)).toEqual([
    'People who need attention',
    expect.stringMatching(/^CONNECTION +KEY +LEAVER +IGNORED +FOR +LINE +REASON$/),
    expect.stringMatching(/^acme +E0004 +may have left +field .*people\.csv:19 +Leaving Date: /),
  ])
  expect(document.blockedPeople.length).toBe(5)
  expect(document.unserved).toEqual(document.blockedPeople)
  expect(status.stdout).toContain(line.slice(line.indexOf('5 people')))
})

test('a status that contradicts the leaving date is listed with both facts, in the person too, and is a failure with --strict', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  await at.writeExport(change(staff(5), { id: 'E0003', leavingDate: '2026-06-30' }))

  const first = await at.run('sync', '--strict')
  const listed = await at.run('problems')
  const person = await at.run('person', 'E0003')
  await at.writeExport(change(staff(5), { id: 'E0003', leavingDate: '2026-06-30', status: 'Inactive' }))
  const second = await at.run('sync', '--strict')
  const { document } = await at.json<{ blockedPeople: object[] }>('problems')

  const reason =
    'the status says employed, and the last day of employment, 2026-06-30, is over: the person stays separated; ask HR which is right'
  expect(first.exit).toBe(70)
  expect(first.stdout).toContain('! acme: 1 person needs attention: rollcall')
  expect(listed.stdout.split('\n').slice(2)).toEqual([
    expect.stringMatching(new RegExp(`^acme +E0003 +- +nothing .*people\\.csv:4 +${reason}$`)),
    '',
  ])
  expect(listed.stdout).not.toContain('reject')
  expect(person.stdout).toContain(`people.csv:4: ${reason}`)
  expect([second.exit, document.blockedPeople]).toEqual([0, []])
})

test('people whom only the platform knows are reported after a sync and in status, fail --strict, and can be separated by a command', async () => {
  const { key } = await host.tenant()
  const account = { baseUrl: host.platform.baseUrl, key }
  {
    await using former = await install(account, { hasStore: true })
    await former.writeExport(staff(5))
    await former.run('sync')
  }
  await using at = await install(account, { hasStore: true })
  await at.writeExport(without(staff(5), 'E0002', 'E0004'))

  const verified = await at.run('resync', '--verify', '--strict')
  const listed = await at.run('problems')
  const { document } = await at.json<{ foreign: object[] }>('problems')
  const status = await at.run('status')
  const separated = await at.run('separate', 'E0002', 'E0004', '--reason', 'left before the move')
  const approved = await at.run('approve', '@held', '--digest', (await heldRun(at)).digest)
  const after = await at.run('resync', '--verify', '--strict')

  const line = `2 people are on the platform but unknown to HR, and may have left: rollcall --config ${at.configFile} problems`
  expect(verified.exit).toBe(70)
  expect(verified.stdout).toContain(`! acme: ${line}`)
  expect(listed.stdout.split('\n').slice(0, 4)).toEqual([
    'People who are only on the platform',
    expect.stringMatching(/^CONNECTION +KEY +FOR +LISTED$/),
    expect.stringMatching(/^acme +E0002 /),
    expect.stringMatching(/^acme +E0004 /),
  ])
  expect(document.foreign).toMatchObject([{ identityId: 'E0002' }, { identityId: 'E0004' }])
  expect(status.stdout).toContain(line)
  expect(separated.exit).toBe(65)
  expect(approved.exit).toBe(0)
  expect([after.exit, after.stdout]).toEqual([0, expect.not.stringContaining('only to the platform')])
})

async function heldRun(at: Awaited<ReturnType<typeof install>>): Promise<{ digest: string }> {
  return (await at.json<{ digest: string }>('run', '@held')).document
}
