import { cp, mkdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
import { embeddedReason } from '../../src/database/embedded-reason.ts'
import { storeFolder } from '../helpers/servers/provided.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'

async function copied() {
  const folder = await temporaryFolder()
  await cp(await storeFolder(), folder.path, { recursive: true })
  return folder
}

function open(at: string) {
  return openDatabase({ at, schemas: ['rollcall'], migrations: [] })
}

test.each([
  [
    'the file that says how it ended is zeros',
    (data: string) => writeFile(join(data, 'global', 'pg_control'), Buffer.alloc(8192)),
  ],
  ['its log is gone', (data: string) => rm(join(data, 'pg_wal'), { recursive: true })],
  [
    'it is a file',
    async (data: string) => {
      await rm(data, { recursive: true })
      await writeFile(data, 'x')
    },
  ],
])('an embedded database is said to be damaged if %s', async (_what, damage) => {
  await using folder = await copied()
  await damage(join(folder.path, 'pgdata'))

  const refused = open(folder.path)

  await expect(refused).rejects.toMatchObject({
    code: 'database_unreachable',
    message: expect.stringMatching(
      /^cannot open the embedded database in .*: its files are damaged, .*: put a backup in its place/,
    ),
  })
})

test('what the engine, its compiler or the system says is never repeated', async () => {
  await using folder = await temporaryFolder()
  await mkdir(join(folder.path, 'pgdata'))
  const named = (name: string, message: string, more = {}) => Object.assign(new Error(message), { name, ...more })
  const reasons = await Promise.all(
    [
      { errno: 44, name: 'ErrnoError' },
      'unwind',
      named('RuntimeError', 'Aborted(). Build with -sASSERTIONS for more info.'),
      named('CompileError', 'WebAssembly.Module(): expected magic word 00 61 73 6d'),
      named('ExitStatus', 'Program terminated with exit(1)'),
      named('Error', "ENOENT: no such file, open '/x/node_modules/@electric-sql/pglite/dist/pglite.wasm'", {
        code: 'ENOENT',
      }),
      named('Error', 'EACCES: permission denied', { code: 'EACCES' }),
      named('RangeError', 'WebAssembly.Memory(): could not allocate memory'),
    ].map((error) => embeddedReason(error, folder.path)),
  )

  const damaged = expect.stringMatching(/^its files are damaged/)
  const missing = expect.stringMatching(
    /^a file of the package @electric-sql\/pglite is missing or damaged: run "npm ci" again$/,
  )
  expect(reasons).toEqual([
    damaged,
    damaged,
    damaged,
    missing,
    damaged,
    missing,
    'its files cannot be read or written: give them to the account that runs Rollcall (EACCES)',
    'there is too little memory for it: give the machine more',
  ])
  expect(reasons.join()).not.toMatch(/\[object|Aborted|WebAssembly|ASSERTIONS/)
})
