import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { lockFolder } from '../../src/database/lock-file.ts'
import { type Ended, rollcall } from '../helpers/cli.ts'
import { install } from '../helpers/installation.ts'
import { csvOf } from '../helpers/sources/source-workplace.ts'
import { isFull } from '../helpers/tier.ts'
import type { StoreOptions } from '../helpers/workplace.ts'
import { change, type Host, peopleOn, staff, startHost, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** An installation that feeds an account of its own. */
async function open(store: StoreOptions = { hasStore: true }) {
  const { key, client } = await host.tenant()
  return { key, client, at: await install({ baseUrl: host.platform.baseUrl, key }, store) }
}

function documentOf({ stdout }: Ended): Record<string, unknown> {
  return JSON.parse(stdout)
}

test('a sync delivers everybody, and the same export again sends nothing', async () => {
  const { at, client } = await open()
  await using _place = at
  await at.writeExport(staff(30))

  const first = await at.run('sync', '--json')
  const second = await at.run('sync')

  expect(first.exit).toBe(0)
  expect(documentOf(first)).toMatchObject({
    connection: 'acme',
    trigger: 'operator',
    state: 'finished',
    counts: { join: 30, unchanged: 0 },
    sent: { upsert: { requests: 1, people: 30 } },
    confirmed: 30,
    problems: 0,
  })
  expect((await peopleOn(client)).size).toBe(30)
  expect({ exit: second.exit, stdout: second.stdout }).toEqual({
    exit: 0,
    stdout: '✔ acme: nothing to change (30 unchanged)\n',
  })
})

// The other tests run commands in a process that stays; these end theirs by themselves.
test('as processes of their own, commands say and answer the same', async () => {
  const { at, client } = await open()
  await using _place = at
  await at.writeExport(staff(30))
  const spawned = (...args: string[]) => rollcall([...args, '--config', at.configFile])

  const checked = await spawned('check')
  const plan = await spawned('plan', '--json')
  const synced = await spawned('sync', '--json')
  const { id } = documentOf(synced) as { id: string }
  const unknown = await spawned('run', 'abc')
  const shown = await spawned('run', id)

  expect([checked, plan, synced, shown].map(({ exit, stderr }) => ({ exit, stderr }))).toEqual(
    Array(4).fill({ exit: 0, stderr: '' }),
  )
  expect(documentOf(plan)).toMatchObject({ counts: { join: 30 } })
  expect((await peopleOn(client)).size).toBe(30)
  expect(unknown.exit).toBe(2)
  expect(shown.stdout).toBe((await at.run('run', id)).stdout)
})

test('a plan shows what would change, personal values only on request, and changes nothing', async () => {
  const { at, client } = await open()
  await using _place = at
  await at.writeExport(staff(30))
  await at.run('sync')
  await at.writeExport(change(staff(30), { id: 'E0002', title: 'Lead' }, { id: 'E0003', leavingDate: '2026-10-31' }))

  const plan = await at.run('plan', '--json')
  const shown = await at.run('plan', '--json', '--show-values')
  const text = await at.run('plan', '--show-values')

  expect([plan.exit, shown.exit, text.exit]).toEqual([0, 0, 0])
  expect(documentOf(plan)).toMatchObject({
    connection: 'acme',
    counts: { update: 1, leave: 1, unchanged: 28 },
    changes: [
      { kind: 'update', identityId: 'E0002', fields: { jobTitle: { hidden: true } } },
      {
        kind: 'leave',
        identityId: 'E0003',
        fields: { separatedAt: { from: null, to: '2026-10-31T00:00:00.000Z' } },
      },
    ],
  })
  expect(documentOf(shown)).toMatchObject({
    changes: [{ fields: { jobTitle: { from: 'Engineer', to: 'Lead' } } }, {}],
  })
  // Not on a terminal: a log file that catches the output gets no personal values.
  expect(text.stdout).toContain('Movers (1)\n  ~ E0002  jobTitle\n')
  expect(text.stderr).toContain('values are shown on a terminal only, or with --json')
  expect(plan.stderr + shown.stderr).not.toContain('on a terminal only')
  expect((await peopleOn(client)).get('E0003')?.separatedAt).toBeNull()
})

test('too many leavers are held with 65, and delivered once exactly that plan is approved', async () => {
  const { at, client } = await open()
  await using _place = at
  await at.writeExport(staff(30))
  await at.run('sync')
  await at.writeExport(staff(20))

  const held = await at.run('sync', '--json')
  const { id, digest } = documentOf(held) as { id: string; digest: string }
  const unsaid = await at.run('approve', id)
  const other = await at.run('approve', id, '--digest', 'sha256:other')
  const before = await peopleOn(client)
  const approved = await at.run('approve', id, '--digest', digest, '--by', 'ana', '--json')
  const again = await at.run('approve', id, '--digest', digest)

  expect([held.exit, unsaid.exit, other.exit, approved.exit, again.exit]).toEqual([65, 2, 75, 0, 75])
  expect([...before.values()].filter(({ separatedAt }) => separatedAt !== null)).toEqual([])
  expect(documentOf(approved)).toMatchObject({ id, state: 'finished', decidedBy: 'ana', confirmed: 10 })
  expect([...(await peopleOn(client)).values()].filter(({ separatedAt }) => separatedAt !== null)).toHaveLength(10)
})

test('a rejected plan is dropped', async () => {
  const { at } = await open()
  await using _place = at
  await at.writeExport(staff(30))
  await at.run('sync')
  await at.writeExport(staff(10))
  const { id } = documentOf(await at.run('sync', '--json')) as { id: string }

  const unseen = await at.run('approve', '@held', '--yes')
  const [held, newest] = [await at.run('run', '@held', '--json'), await at.run('run', 'last', '--json')]
  const rejected = await at.run('reject', id.slice(0, 8), '--by', 'ana')
  const [approved, again] = [await at.run('approve', id, '--yes'), await at.run('reject', '@held')]

  expect([unseen, rejected, approved, again].map(({ exit }) => exit)).toEqual([2, 0, 75, 66])
  expect(unseen.stderr).toContain('✖ --yes approves a plan unseen: name the run by its id instead of @held')
  expect([held, newest].map((run) => documentOf(run).id)).toEqual([id, id])
  expect(rejected.stdout).toBe('- acme: rejected by ana\n')
})

test('a person is taken back after an approval, and the account of it stays', async () => {
  const { at, client } = await open()
  await using _place = at
  await at.writeExport(staff(5))
  await at.run('sync')

  const held = await at.run('retract', 'E0001', '--reason', 'sent in error', '--json')
  const { id } = documentOf(held) as { id: string }
  const approved = await at.run('approve', id, '--yes')
  const person = await at.run('person', 'E0001', '--json')

  expect([held.exit, approved.exit, person.exit]).toEqual([65, 0, 0])
  expect((await peopleOn(client)).has('E0001')).toBe(false)
  expect(documentOf(person)).toMatchObject({
    identityId: 'E0001',
    confirmed: null,
    retracted: { reason: 'sent in error' },
    changes: [
      { kind: 'retract', state: 'confirmed', runId: id },
      { kind: 'join', source: 'people.csv:2' },
    ],
  })
})

describe('each obstacle has its own exit code', () => {
  test('a missing source is 66', async () => {
    const { at } = await open()
    await using _installation = at

    const { exit, stdout } = await at.run('sync')

    expect(exit).toBe(66)
    expect(stdout).toContain('✖ acme: failed: ')
  })

  test('an unreachable platform is 69, and the next start goes on', async () => {
    const { key, client } = await host.tenant()
    await using away = await install({ baseUrl: 'http://127.0.0.1:9/public/v2', key }, { hasStore: true })
    await away.writeExport(staff(5))

    const { exit, stderr } = await away.run('sync', '--wait', '1')
    const status = await away.run('status', '--json')

    expect(exit).toBe(69)
    expect(stderr).toMatch(/accepted nothing for 1 second: .*\(connection refused\).*; 0 changes delivered, 5 to go/)
    expect(documentOf(status)).toMatchObject({ connections: [{ people: { due: 5 }, active: { state: 'delivering' } }] })
    expect((await peopleOn(client)).size).toBe(0)
  })

  test('a key that the platform does not accept is 77, and the right one delivers', async () => {
    const { at, key, client } = await open()
    await using _place = at
    await at.writeExport(staff(5))
    await at.setKey('wrong')

    const blocked = await at.run('sync')
    await at.setKey(key)
    const freed = await at.run('sync')

    expect(blocked.exit).toBe(77)
    expect(blocked.stderr).toContain('acme is blocked: the platform does not accept the API key (401)')
    expect(freed.exit).toBe(0)
    expect((await peopleOn(client)).size).toBe(5)
  })

  test('a store that another process has is 75, with its pid', async () => {
    const { at } = await open({ hasStore: true, isEmbedded: true })
    await using _installation = at
    await using _lock = await lockFolder(`${at.dataDir}/store`)

    const { exit, stderr } = await at.run('status')

    expect(exit).toBe(75)
    expect(stderr).toContain(`is in use by process ${process.pid}`)
  })

  test.each([
    ['a run that does not exist', ['run', '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'], 66],
    ['a person whom nobody knows', ['person', 'E9999'], 66],
    ['an id that is none', ['run', 'abc'], 2],
    ['a connection that is not configured', ['sync', '--connection', 'other'], 2],
  ])('%s', async (_what, args, expected) => {
    const { at } = await open()
    await using _installation = at

    const { exit, stdout } = await at.run(...args)

    expect({ exit, stdout }).toEqual({ exit: expected, stdout: '' })
  })
})

describe('a check', () => {
  test('shows what would be rejected and reaches the platform, without changing it', async () => {
    const { at, client } = await open()
    await using _place = at
    await at.writeExport([...staff(5), { id: 'E0006', start: '2026-02-31' }])

    const { exit, stdout } = await at.run('check')

    expect(exit).toBe(0)
    expect(stdout).toContain('✔ source of acme: people.csv: 6 rows, 6 records, 0 rejected, 1 with a bad cell\n')
    expect(stdout).toContain('answers; the first run will create the connection')
    expect((await peopleOn(client)).size).toBe(0)
  })

  test('shows how many have left, and what would hold the first plan and later ones, as plan does', async () => {
    const { at } = await open()
    await using _place = at
    const gone = staff(20).map((person) => ({ ...person, leavingDate: '2001-01-01', status: '' }))
    await at.writeExport(gone)

    const before = await at.run('check')
    await at.writeExport(staff(20))
    await at.run('sync')
    await at.writeExport(gone)
    const after = await at.run('check')
    const plan = await at.run('plan')
    await at.writeExport(staff(20))
    const unchanged = await at.run('check')

    expect(before.stdout).toContain('✔ source of acme: 20 of 20 people have left already\n')
    expect(before.stdout).toContain(
      '✖ source of acme: the first plan would be held by leftJoiners: 20 of 20 people have left already; the limit is 15; ' +
        'HR may write a date for people who have not left (blankWhen), or a status may mean the opposite; such as E0001, ',
    )
    expect(before.stdout).toContain(
      'held by sameLeaving: 20 of 20 people who have left did so on 2001-01-01; the limit is 10',
    )
    expect(before.stdout).not.toContain('no leavers')
    expect(before.exit).toBe(65)
    expect(after.stdout).toContain('20 of 20 people have left already')
    expect(after.stdout).not.toContain('first plan')
    expect(after.stdout).toContain(
      '✖ source of acme: the next plan would be held by leavers: 20 of 20 people would be separated',
    )
    expect([after.exit, plan.exit]).toEqual([65, 65])
    expect([unchanged.stdout.includes('would be held'), unchanged.exit]).toEqual([false, 0])
  })

  test.each([
    [
      'lacks a mapped column',
      csvOf(staff(20)).replace('Status', 'State'),
      'column "Status" (status) is not in the header',
    ],
    ['has a header only', csvOf([]), 'none of 0 rows became a record'],
    ['has no key', csvOf(staff(20).map((person) => ({ ...person, id: '' }))), 'none of 20 rows became a record'],
  ])('ends as plan does where the export %s, before the first plan and after it', async (_what, text, reason) => {
    const { at } = await open()
    await using _place = at
    await at.drop('people.csv', text)
    const first = [await at.run('check'), await at.run('plan')]
    await at.writeExport(staff(20))
    await at.run('sync')
    await at.drop('people.csv', text)
    const next = [await at.run('check'), await at.run('plan')]

    expect([...first, ...next].map(({ exit }) => exit)).toEqual([65, 65, 65, 65])
    for (const [checked] of [first, next]) expect(checked?.stdout.split(reason)).toHaveLength(2)
  })

  test('counts the rows as a plan does, and reports a fault of several rows once', async () => {
    const { at } = await open()
    await using _place = at
    await at.writeExport([...staff(6), { id: 'E0002' }, { id: 'E0003' }])

    const checked = await at.run('check')
    const planned = await at.run('plan')

    expect(checked.stdout).toContain('people.csv: 8 rows, 4 records, 4 rejected, 0 with a bad cell\n')
    expect(planned.stdout).toContain('\n8 rows, 4 records, 4 rejected, 0 with a bad cell, 0 unchanged\n')
    expect(checked.stdout).toContain(
      '⊘ source of acme: 4 rejected: the key stands in this file more than once, also in line …\n',
    )
  })

  test.each([['the store', false], ...(isFull ? [['the daemon that has it open', true] as const] : [])] as const)(
    'counts a status that a person has classed as a plan counts it, as %s knows it',
    async (_what, serves) => {
      const { at } = await open()
      await using _place = at
      await at.writeExport(change(staff(6), { id: 'E0002', status: 'Exited' }, { id: 'E0003', status: 'On loan' }))
      if (serves) await at.start('serve').waitForOutput('daemon.started')

      const before = await at.run('check')
      await at.run('accept-status', 'exited', '--as', 'left')
      const [checked, planned] = [await at.run('check'), await at.run('plan')]

      expect(before.stdout).toContain('people.csv: 6 rows, 6 records, 0 rejected, 2 with a bad cell\n')
      expect(checked.stdout).toContain('people.csv: 6 rows, 6 records, 0 rejected, 1 with a bad cell\n')
      expect(checked.stdout).not.toContain('only the values listed in the configuration are used')
      expect(planned.stdout).toContain('\n6 rows, 6 records, 0 rejected, 1 with a bad cell, 0 unchanged\n')
    },
  )

  test('ends with the code of the first failure, and tests the rest all the same', async () => {
    const { at } = await open()
    await using _installation = at
    await at.setKey('wrong')

    const checked = await at.run('check', '--json')

    expect(checked.exit).toBe(66)
    expect(documentOf(checked)).toMatchObject({
      ok: false,
      checks: [
        { name: 'configuration', code: null },
        { name: 'source of acme', code: 'source_unreadable' },
        { name: 'database', code: null },
        { name: 'queue', code: null },
        { name: 'secrets', code: null },
        { name: 'platform for acme', code: 'blocked' },
      ],
    })
  })

  test('continues if the store is locked', async () => {
    const { at } = await open({ hasStore: true, isEmbedded: true })
    await using _place = at
    await at.writeExport(staff(5))
    await using _lock = await lockFolder(`${at.dataDir}/store`)

    const { exit, stdout } = await at.run('check')

    expect(exit).toBe(0)
    expect(stdout).toContain(`in use by process ${process.pid}`)
    expect(stdout).toMatch(/source of acme: warning: only the values listed in the configuration are used: /)
  })
})

test('nobody is lost who leaves', async () => {
  const { at, client } = await open()
  await using _place = at
  await at.writeExport(staff(30))
  await at.run('sync')
  await at.writeExport(without(staff(30), 'E0007'))

  const { exit, stdout } = await at.run('sync')

  expect(exit).toBe(0)
  expect(stdout).toMatch(/^✔ acme: 1 change delivered in .* \(1 leaver, 29 unchanged\)\n$/)
  expect((await peopleOn(client)).get('E0007')?.separatedAt).toBe('2026-11-20T00:00:00.000Z')
})
