import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startCommand } from '../helpers/cli.ts'
import { install } from '../helpers/installation.ts'
import { staff } from '../helpers/world.ts'

const nowhere = { baseUrl: 'https://platform.invalid/public/v2', key: 'key' }

test('a check of a new installation leaves nothing behind, and names the host that it does not find', async () => {
  await using at = await install(nowhere)
  await at.writeExport(staff(3))
  const before = await readdir(at.folder)

  const { stdout } = await at.run('check')

  expect(stdout).toContain(`✔ database: the first run will make the embedded database in ${join(at.dataDir, 'store')}`)
  expect(stdout).toMatch(/✖ platform for acme: https:\/\/platform\.invalid\/public\/v2: the platform cannot be reached/)
  expect(await readdir(at.folder)).toEqual(before)
})

test('a check in a data folder that is there leaves it as it was', async () => {
  await using at = await install(nowhere, { hasStore: true, isEmbedded: true })
  await at.writeExport(staff(3))
  await at.run('status')
  const before = await readdir(at.dataDir, { recursive: true })

  const { stdout } = await at.run('check')

  expect(stdout).toContain(`✔ database: the embedded database in ${join(at.dataDir, 'store')}`)
  expect((await readdir(at.dataDir, { recursive: true })).length).toBe(before.length)
})

test('a configuration is named with its whole path to a command that is started in the root folder', async () => {
  const config = '/does/not/exist.yaml'

  const stderr = await new Promise<string>((resolve) => {
    const root = new URL('../../bin/rollcall', import.meta.url).pathname
    execFile(root, ['plan', '--config', config], { cwd: '/' }, (_error, _stdout, errorOutput) => resolve(errorOutput))
  })

  expect(stderr).toContain(`cannot read ${config} (ENOENT)`)
})

test('the compiled code is kept below the cache folder of the user, and a folder that cannot be used is ignored', async () => {
  await using at = await install(nowhere)
  const versionWith = (cache: string) =>
    startCommand(['--version'], { env: { XDG_CACHE_HOME: cache, NODE_COMPILE_CACHE: '' } }).ended

  const [kept, none] = [await versionWith(at.folder), await versionWith(join(at.folder, 'key'))]

  expect([kept.exit, none.exit]).toEqual([0, 0])
  expect(await readdir(join(at.folder, 'rollcall', 'compiled'))).toEqual([expect.stringContaining('v26')])
})
