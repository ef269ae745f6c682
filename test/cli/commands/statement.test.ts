import { execFile } from 'node:child_process'
import { copyFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { install } from '../../helpers/installation.ts'
import { unpack } from '../../helpers/unpack.ts'
import { change, type Host, staff, startHost, without } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const run = promisify(execFile)
const period = ['--from', '2020-01-01', '--to', '2099-12-31']

test('an auditor can follow the page of the pack: nothing is missing, and one changed byte is found', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  const folder = dirname(at.configFile)
  const zip = join(folder, 'pack.zip')
  const [firstExport, secondExport] = [join(folder, 'first.csv'), join(folder, 'second.csv')]
  await at.writeExport(staff(12))
  await copyFile(join(folder, 'exports', 'people.csv'), firstExport)
  await at.run('sync')
  await at.writeExport(
    without(change(staff(13), { id: 'E0003', leavingDate: '2026-11-19', status: 'Inactive' }), 'E0005'),
  )
  await copyFile(join(folder, 'exports', 'people.csv'), secondExport)
  await at.run('sync')

  const shown = await at.run('statement')
  const everybody = await at.run('statement', '--format', 'csv')
  await at.run('report', 'leavers', ...period, '--pack', zip)

  expect(shown).toMatchObject({ exit: 0, stdout: expect.stringContaining('Everybody is accounted for.') })
  expect(everybody.stdout.split('\n').filter((line) => line.includes('E00'))).toHaveLength(13)
  const unpacked = await unpack(zip, join(folder, 'pack'))
  const own = (name: string) => unpacked[`population/acme/${name}`] ?? ''
  const linesOf = (...names: string[]) => names.flatMap((name) => own(name).split('\n')).toSorted()
  expect(linesOf('start.txt', 'entered.txt')).toEqual(linesOf('end.txt', 'left.txt'))
  expect(own('left.txt')).toBe('E0003\nE0005\n')
  expect(own('movements.csv')).toMatch(/"E0003","leave",.*line 4.*"200"/)
  const cwd = join(folder, 'pack', 'population', 'acme')
  const { stdout: sum } = await run('sh', ['-c', 'cut -c 1-64 export-end.txt | sha256sum'], { cwd })
  expect(JSON.parse(own('statement-end.json')).export.keys).toBe(sum.slice(0, 64))
  expect(unpacked['audit.jsonl']).toContain('statement.made')

  const same = await at.run('statement', 'verify', '--export', secondExport, '--pack', zip)
  const other = await at.run('statement', 'verify', '--export', firstExport, '--pack', zip)
  expect([same.exit, other.exit]).toEqual([0, 70])
  await at.run('forget', 'E0003', '--reason', 'asked for')
  const forgotten = join(folder, 'forgotten.zip')
  await at.run('report', 'leavers', ...period, '--pack', forgotten)
  const still = await at.run('statement', 'verify', '--export', secondExport, '--pack', forgotten)
  expect(still).toMatchObject({ exit: 0, stdout: expect.stringContaining('is what the export says') })
  expect(other.stdout).toContain('only in the export: E0005')

  await writeFile(join(cwd, 'end.txt'), own('end.txt').replace('E0001', 'E0002'))
  await expect(run('sha256sum', ['-c', 'MANIFEST'], { cwd: join(folder, 'pack') })).rejects.toMatchObject({ code: 1 })
  await expect(run(process.execPath, ['verify.mjs'], { cwd: join(folder, 'pack') })).rejects.toMatchObject({ code: 1 })
})
