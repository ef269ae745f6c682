import { execFile } from 'node:child_process'
import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { migrations } from '../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../src/store/schema.ts'
import { install } from '../helpers/installation.ts'
import { createPostgresDatabase } from '../helpers/servers/databases.ts'
import { change, type Host, staff, startHost } from '../helpers/world.ts'

const script = fileURLToPath(new URL('../store/audit/verify-excerpt.mjs', import.meta.url))

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

test('an operator forgets a leaver, hands out the proof of it, and learns when the trail was edited', async () => {
  const { key } = await host.tenant()
  await using database = await createPostgresDatabase()
  await using at = await install({ baseUrl: host.platform.baseUrl, key, database: database.at })
  const { dataDir } = at
  await at.writeExport(staff(3))
  await at.run('sync', '--by', 'Ada')
  await at.writeExport(change(staff(3), { id: 'E0002', leavingDate: '2026-11-01', status: 'Inactive' }))
  await at.run('sync', '--by', 'Ada')

  const refused = await at.run('forget', 'E0001', '--reason', 'asked for')
  const forgotten = await at.run('forget', 'E0002', '--reason', 'asked for', '--by', 'Ada')
  const shown = await at.run('person', 'E0002', '--json')
  const verified = await at.run('audit', 'verify', '--json')
  const excerpt = await at.run('audit', 'export', '--person', 'E0002')
  const ofAct = await at.run('audit', 'export', '--act', 'person', '--by', 'Ada')
  const ofNobody = await at.run('audit', 'export', '--act', 'person', '--by', 'Eva')
  await writeFile(join(dataDir, 'excerpt'), excerpt.stdout)
  const proven = await promisify(execFile)(process.execPath, [
    script,
    join(dataDir, 'excerpt'),
    join(dataDir, 'audit-key.pub.pem'),
  ])

  expect(refused).toMatchObject({ exit: 75, stderr: expect.stringContaining('person E0001 is employed') })
  expect(forgotten).toMatchObject({
    exit: 0,
    stdout: expect.stringContaining('the values of E0002 were removed'),
  })
  expect(JSON.parse(shown.stdout)).toMatchObject({
    forgotten: true,
    desired: { separatedAt: '2026-11-01T00:00:00.000Z' },
  })
  expect(verified.exit).toBe(0)
  expect(JSON.parse(verified.stdout)).toMatchObject({ finding: null, pending: 0 })
  expect(excerpt.stdout).toMatch(/change\.delivered[^\n]*E0002/)
  expect(excerpt.stdout).toMatch(/person\.forgotten[^\n]*asked for/)
  const actsIn = (text: string) => Array.from(text.matchAll(/\\"act\\":\\"([^\\]+)/g), ([, act]) => act)
  expect([actsIn(ofAct.stdout), actsIn(ofNobody.stdout)]).toEqual([['person.forgotten'], []])
  // The batch that made them a joiner, their departure, and that they were forgotten.
  expect(proven.stdout).toBe('PROVEN: 3 entries\n')

  await edit(database.at)
  const edited = await at.run('audit', 'verify')
  await rm(join(dataDir, 'audit-key.pem'))
  const replaced = await at.run('audit', 'new-key', '--reason', 'the disk broke', '--by', 'Ada')

  expect(edited).toMatchObject({
    exit: 76,
    stdout:
      '✖ the audit trail does not match its signatures: entry 3 was changed: it does not have the hash that it was given\n',
  })
  expect(replaced.stdout).toContain('the former key did not sign this')
})

/** What somebody does who may write to the database. */
async function edit(at: string): Promise<void> {
  await using opened = await openDatabase<StoreSchema>({ at, schemas: ['rollcall', 'bullmq'], migrations })
  const { entry } = await opened.db
    .selectFrom('audit_trail')
    .select('entry')
    .where('ordinal', '=', '3')
    .executeTakeFirstOrThrow()
  await opened.db
    .updateTable('audit_trail')
    .set({ entry: entry.replace('Ada', 'Eve') })
    .where('ordinal', '=', '3')
    .execute()
}
