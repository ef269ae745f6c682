import { open as openFile, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { install } from '../helpers/installation.ts'
import { createEmptyPostgresDatabase, createPostgresDatabase } from '../helpers/servers/databases.ts'
import { redisUrl } from '../helpers/servers/provided.ts'
import { isFull } from '../helpers/tier.ts'
import { change, type Host, peopleOn, staff, startHost, without } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const sizes = [
  { size: 'embedded', hasServer: false, hasRedis: false },
  { size: 'one host', hasServer: true, hasRedis: false },
  { size: 'scaled out', hasServer: true, hasRedis: true },
].filter(({ size }) => isFull || size === 'embedded')

describe.each(sizes)('$size', ({ hasServer, hasRedis }) => {
  test('while the daemon runs, the store is backed up and put back, and nobody who left since is brought back', async () => {
    await using server = hasServer ? await createPostgresDatabase() : null
    const { key, client } = await host.tenant()
    await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: !hasServer, isEmbedded: true })
    await at.configure({
      ...(server && { database: server.at }),
      ...(hasRedis && { queue: await redisUrl() }),
    })
    const before = staff(12)
    const file = join(at.folder, 'rollcall.backup')
    await at.writeExport(before)
    expect((await at.run('sync')).exit).toBe(0)
    const daemon = at.start('serve', '--json')
    await daemon.waitForOutput('daemon.started')

    const backup = await at.json('backup', file)
    expect(backup).toMatchObject({ exit: 0, document: { people: 12 } })
    expect((await stat(file)).mode & 0o777).toBe(0o600)
    expect((await at.run('backup', file)).exit).toBe(75)

    await at.writeExport(change(without(before, 'E0001'), { id: 'E0002', title: 'Newer' }))
    expect((await at.run('sync')).exit).toBe(0)
    expect((await at.run('restore', file, '--reason', 'a trial')).stderr).toContain('repeat with --replace')
    const restored = await at.json('restore', file, '--reason', 'a trial', '--replace')
    expect(restored).toMatchObject({ exit: 0, document: { people: 12, entriesLost: expect.any(Number) } })
    expect((await at.run('sync')).exit).toBe(0)

    const people = await peopleOn(client)
    expect(people.get('E0001')?.separatedAt).not.toBeNull()
    expect(people.get('E0002')?.jobTitle).toBe('Newer')
    const audit = await at.run('audit', 'verify')
    expect(audit).toMatchObject({ exit: 0, stdout: expect.stringContaining('signed after the backup') })
    daemon.child.kill('SIGTERM')
    expect((await daemon.ended).exit).toBe(0)
  })
})

test('an embedded store that is moved to PostgreSQL goes on there, and refuses to be opened where it was', async () => {
  await using database = await createEmptyPostgresDatabase()
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true, isEmbedded: true })
  await at.writeExport(staff(5))
  const { document: run } = await at.json<{ id: string }>('sync')
  await writeFile(join(at.folder, 'target'), database.at)
  const to = ['--to', '${file:target}']

  const moved = await at.run('move', ...to)
  expect(moved).toMatchObject({ exit: 0, stdout: expect.stringContaining('5 people') })
  expect(await at.run('status')).toMatchObject({
    exit: 74,
    stderr: expect.stringContaining('was moved to PostgreSQL at'),
  })
  expect(await at.run('move', ...to)).toMatchObject({
    exit: 75,
    stderr: expect.stringContaining('holds a store already'),
  })

  await at.configure({ database: database.at })
  expect((await at.json('sync')).document).toMatchObject({ state: 'unchanged', counts: { unchanged: 5 } })
  expect((await at.json('run', run.id)).document).toMatchObject({ state: 'finished', confirmed: 5 })
  expect((await at.run('audit', 'verify')).exit).toBe(0)
})

test('a damaged store is refused, put aside, and put back from a backup without a daemon', {
  tags: ['full'],
}, async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true, isEmbedded: true })
  const file = join(at.folder, 'rollcall.backup')
  const store = join(at.dataDir, 'store')
  await at.writeExport(staff(3))
  expect((await at.run('sync')).exit).toBe(0)
  expect((await at.run('backup', file)).exit).toBe(0)
  {
    await using handle = await openFile(join(store, 'pgdata', 'global', 'pg_control'), 'r+')
    await handle.write(Buffer.alloc(100, 7), 0, 100, 0)
  }

  expect((await at.run('status')).exit).toBe(69)
  expect((await at.run('restore', file, '--reason', 'the disk')).exit).toBe(69)
  expect((await at.run('restore', file, '--reason', 'the disk', '--replace')).exit).toBe(0)
  expect((await at.json('sync')).document).toMatchObject({ state: 'unchanged' })
  expect((await readdir(store)).filter((name) => name.startsWith('pgdata.aside-'))).toHaveLength(1)

  await rm(store, { recursive: true })
  expect(await at.run('status')).toMatchObject({
    exit: 74,
    stderr: expect.stringContaining(`rollcall --config ${at.configFile} restore FILE`),
  })
})
