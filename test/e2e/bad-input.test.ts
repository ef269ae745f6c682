import { mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { databaseOperator } from '../../src/platform/operators/operator.ts'
import { call } from '../helpers/called.ts'
import { openWorkplace, type Workplace } from '../helpers/workplace.ts'
import { type Host, peopleOn, startHost } from '../helpers/world.ts'

const header = 'Worker ID,Work Email,First Name,Job Title,Hire Date,Termination Date,Contractor'
const rows = Array.from(
  { length: 20 },
  (_, i) => `W${i + 1},w${i + 1}@acme.example,Person ${i + 1},Engineer,2020-01-06,,no`,
)
const sound = [header, ...rows, ''].join('\n')

/** The sound export with its row of W1 replaced. */
const withRow = (row: string): string => [header, row, ...rows.slice(1), ''].join('\n')

let host: Host
let work: Workplace
let tenant: Awaited<ReturnType<Host['tenant']>>
let export_ = 0

beforeAll(async () => {
  host = await startHost()
  tenant = await host.tenant()
  work = await openWorkplace({ baseUrl: host.platform.baseUrl, key: tenant.key }, { hasStore: true })
  await work.drop('people-000.csv', sound)
  const first = await work.run('sync')
  expect(first).toMatchObject({ exit: 0 })
})
afterAll(async () => {
  await work[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

/** Runs a command that must fail, and checks that the platform is as before. */
async function refused(...args: string[]): Promise<{ exit: number | null; line: string }> {
  const before = [...(await peopleOn(tenant.client)).values()]
  const { exit, stdout, stderr } = await work.run(...args)
  expect([...(await peopleOn(tenant.client)).values()]).toEqual(before)
  return { exit, line: `${stdout}\n${stderr}` }
}

const drop = (content: string | Uint8Array): Promise<void> =>
  work.drop(`people-${String(++export_).padStart(3, '0')}.csv`, content)

describe('a source that cannot be read ends with 66 and one line that says why', () => {
  test('no file at all', async () => {
    await work.configure({ path: 'nowhere/*.csv' })

    const { exit, line } = await refused('sync')

    expect(exit).toBe(66)
    expect(line).toMatch(/✖.*nowhere/)
  })

  test('a folder instead of a file', async () => {
    await mkdir(join(work.folder, 'folder.csv'), { recursive: true })
    await work.configure({ path: 'folder.csv' })

    const { exit, line } = await refused('sync')

    expect(exit).toBe(66)
    expect(line).toMatch(/folder\.csv/)
  })

  test('an empty file', async () => {
    await writeFile(join(work.folder, 'empty.csv'), '')
    await work.configure({ path: 'empty.csv' })

    const { exit, line } = await refused('sync')

    expect(exit).toBe(66)
    expect(line).toMatch(/empty/)
  })

  test('a file that ends inside a quoted cell', async () => {
    await writeFile(join(work.folder, 'cut.csv'), `${sound}W99,"never clo`)
    await work.configure({ path: 'cut.csv' })

    const { exit, line } = await refused('sync')

    expect(exit).toBe(66)
    expect(line).toMatch(/quote/i)
  })
})

describe('an export that may be a mistake is held with 65', () => {
  test.each([
    ['header only', `${header}\n`, /no rows/],
    ['a mapped column is missing', sound.replace('Worker ID', 'Nummer'), /Nummer|Worker ID|identityId/],
    [
      'half of the people are gone',
      [header, ...rows.slice(0, 10), ''].join('\n'),
      /10 of 20 people would be separated/,
    ],
    [
      'too many rows are rejected',
      [header, ...rows.map((row) => row.replace('2020-01-06', 'soon')), ''].join('\n'),
      /20 of 20 rows are rejected/,
    ],
  ])('%s', async (_name, content, reason) => {
    await work.configure()
    await drop(content)

    const { exit, line } = await refused('sync')

    expect(exit).toBe(65)
    expect(line).toMatch(reason)
  })

  test('the leaving-date column that the last export had is gone', async () => {
    await work.configure()
    await drop(sound.replace('Termination Date', 'Remarks'))

    const planned = await refused('plan')
    const { exit, line } = await refused('sync')

    expect([planned.exit, exit]).toEqual([65, 65])
    expect(line).toMatch(/separatedAt/)
  })
})

describe('a row that cannot be read is rejected with its line, and the person stays as they were', () => {
  test.each([
    ['too short', withRow('W1,w1@acme.example'), null, /2 cells/],
    ['too long', withRow(`${rows[0]},more,and more`), null, /9 cells/],
    [
      'an impossible date',
      withRow('W1,w1@acme.example,Person 1,Engineer,2020-02-31,,no'),
      'Hire Date',
      /2020-02-31.* is not a date/,
    ],
    ['no e-mail address', withRow('W1,nobody at all,Person 1,Engineer,2020-01-06,,no'), 'Work Email', /e-mail/],
    [
      'an overlong field',
      withRow(`W1,w1@acme.example,${'x'.repeat(192)},Engineer,2020-01-06,,no`),
      'First Name',
      /192/,
    ],
    [
      'an unknown kind of worker',
      withRow('W1,w1@acme.example,Person 1,Engineer,2020-01-06,,perhaps'),
      'Contractor',
      /./,
    ],
    [
      'invalid bytes',
      Buffer.from(withRow('W1,w1@acme.example,Pers\xff,Engineer,2020-01-06,,no'), 'latin1'),
      'First Name',
      /./,
    ],
    ['no key', withRow(' ,w1@acme.example,Person 1,Engineer,2020-01-06,,no'), 'Worker ID', /./],
    ['a NUL character', withRow('W1,w1@acme.example,Per\0son,Engineer,2020-01-06,,no'), null, /NUL/],
  ])('%s', async (_name, content, column, reason) => {
    await work.configure()
    await drop(content)

    const { document } = await work.json<{
      rejects: { line: number; column: string | null; reason: string }[]
      changes: unknown[]
      counts: Record<string, number>
    }>('plan')

    expect(document.rejects).toMatchObject([{ line: 2, column, reason: expect.stringMatching(reason) }])
    const text = JSON.stringify(document.rejects)
    for (const personal of ['acme.example', 'nobody at all', 'Person 1']) expect(text).not.toContain(personal)
    // Where the key cannot be read, or trusted, W1 is absent, which a guard then holds.
    if (column === null || column === 'Worker ID') expect(document.counts.leave).toBe(1)
    else expect(document.changes).toEqual([])
  })

  test('a repeated key', async () => {
    await work.configure()
    await drop([header, ...rows, rows[0]?.replace('Engineer', 'King'), ''].join('\n'))

    const { document } = await work.json<{ rejects: { line: number }[]; changes: unknown[] }>('plan')

    expect(document.rejects.map(({ line }) => line)).toEqual([2, 22])
    expect(document.changes).toEqual([])
  })
})

describe('a configuration that cannot be used ends with 78 and names file, line and column', () => {
  test.each([
    ['an unknown key', { extra: 'polSeconds: 5\n' }, /rollcall\.yaml:7:1: .*polSeconds/],
    ['a wrong type', { extra: 'dataDirs: [1]\n' }, /rollcall\.yaml:7:1/],
    ['a value out of range', { connection: '    delivery: { batchSize: 0 }\n' }, /rollcall\.yaml:11:28: .*batchSize/],
    [
      'a time zone that does not exist',
      { connection: "    schedule: { cron: '0 2 * * *', timeZone: Europe/Nowhere }\n" },
      /rollcall\.yaml:11:46: .*unknown time zone/,
    ],
    ['no YAML', { connection: '   : [\n' }, /rollcall\.yaml:1\d:\d+/],
  ])('%s', async (_name, options, where) => {
    await work.configure(options)

    const { exit, line } = await refused('sync')

    expect(exit).toBe(78)
    expect(line).toMatch(where)
  })

  test('a missing secret', async () => {
    await work.configure({ extra: 'queue: ${file:nowhere}\n' })

    const { exit, line } = await refused('sync')

    expect(exit).toBe(78)
    expect(line).toMatch(/rollcall\.yaml:7:8: .*nowhere/)
  })

  test('no configuration', async () => {
    const { exit, stderr } = await call(['sync', '--config', join(work.folder, 'missing.yaml')])

    expect(exit).toBe(78)
    expect(stderr).toMatch(/missing\.yaml/)
  })
})

describe('a platform that refuses the connection', () => {
  const changed = sound.replace('Engineer', 'Director')
  let accounts = 0

  /** A key of an account that lacks something. */
  async function keyOf(account: { entitled?: boolean; terms?: boolean; permissions?: string[] }): Promise<string> {
    const operator = databaseOperator(host.platform.database.db)
    const name = `Lacking ${++accounts}`
    await operator.createAccount({
      body: {
        name,
        entitlements: (account.entitled ?? true) ? ['CUSTOM_CONNECTIONS_AND_TESTS'] : [],
        termsAcceptedAt: (account.terms ?? true) ? '2026-01-01T00:00:00.000Z' : null,
      },
    })
    return (
      await operator.createKey({ body: { account: name, name: 'key', permissions: account.permissions ?? 'all' } })
    ).key
  }

  test.each([
    ['a wrong key', async () => 'wrong-key', /API key \(401\)/],
    ['a key without the permission', () => keyOf({ permissions: ['workspaces-get'] }), /permission \(403\)/],
    ['a plan without the feature', () => keyOf({ entitled: false }), /\(402\)/],
    ['terms not accepted', () => keyOf({ terms: false }), /terms \(412\)/],
  ])('%s: blocked with 77, and nothing is lost', async (_name, key, reason) => {
    await work.configure({ key: await key(), target: `{ name: Elsewhere ${accounts} }` })
    await drop(changed)

    const blocked = await refused('sync')

    expect(blocked.exit).toBe(77)
    expect(blocked.line).toMatch(reason)
  })

  test('a connection id that does not exist: blocked with 77', async () => {
    await work.configure({ target: '{ id: 999999 }' })
    await drop(changed)

    const { exit, line } = await refused('sync')

    expect(exit).toBe(77)
    expect(line).toMatch(/no custom connection 999999/)
  })

  test('nothing listens: 69 after the timeout, and the run stays', async () => {
    await work.configure({ baseUrl: 'http://127.0.0.1:9/public/v2', target: '{ name: Nowhere }' })
    await drop(changed)

    const { exit, line } = await refused('sync', '--wait', '1')

    expect(exit).toBe(69)
    expect(line).toMatch(/127\.0\.0\.1:9/)
  })

  test('once the platform accepts it again, the next sync delivers everything', async () => {
    await work.configure()
    await drop(changed)

    const { exit } = await work.run('sync')

    expect(exit).toBe(0)
    expect((await peopleOn(tenant.client)).get('W1')?.jobTitle).toBe('Director')
  })
})

test.each([
  ['an unknown command', ['frobnicate']],
  ['an unknown option', ['sync', '--frobnicate']],
  ['a missing argument', ['approve']],
  ['a connection that is not configured', ['sync', '--connection', 'other']],
])('%s ends with 2', async (_name, args) => {
  await work.configure()

  const { exit, line } = await refused(...args)

  expect(exit).toBe(2)
  expect(line).toMatch(/✖/)
})

test('a folder in use by another process ends with 75 and its pid', { tags: ['full'] }, async () => {
  const { baseUrl } = host.platform
  await using locked = await openWorkplace({ baseUrl, key: tenant.key }, { hasStore: true, isEmbedded: true })
  await using daemon = locked.start('serve')
  await daemon.waitForOutput('daemon.started')
  // Without its address nobody can ask the daemon, and the folder stays locked.
  await rm(join(locked.folder, 'data', 'daemon.json'), { force: true })

  const { exit, stderr } = await locked.run('sync')

  expect(exit).toBe(75)
  expect(stderr).toContain(String(daemon.child.pid))
})
