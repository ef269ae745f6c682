import { cp, rm, truncate, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../src/database/database.ts'
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

test.each<[string, (data: string) => Promise<unknown>, RegExp]>([
  [
    'the file that says how it ended is zeros',
    (data) => writeFile(join(data, 'global', 'pg_control'), Buffer.alloc(8192)),
    /: database files are incompatible with server: .*; if its disk .*: put a backup in their place/,
  ],
  [
    'the file that says how it ended was cut',
    (data) => truncate(join(data, 'global', 'pg_control'), 100),
    /: could not read file "global\/pg_control": read 100 of 296; if its disk .*: put a backup in their place/,
  ],
  [
    'its log is gone',
    (data) => rm(join(data, 'pg_wal'), { recursive: true }),
    /: required WAL directory "pg_wal" does not exist; if its disk .*: put a backup in their place/,
  ],
  [
    'it is of another version of PostgreSQL',
    (data) => writeFile(join(data, 'PG_VERSION'), '14\n'),
    /initialized by PostgreSQL version 14, which is not compatible/,
  ],
  [
    'it is a file',
    async (data) => {
      await rm(data, { recursive: true })
      await writeFile(data, 'x')
    },
    /: ENOTDIR: not a directory/,
  ],
])(
  'an embedded database says in the words of PostgreSQL why it cannot be opened: %s',
  async (_what, damage, reason) => {
    await using folder = await copied()
    await damage(join(folder.path, 'pgdata'))

    const refused = open(folder.path)

    await expect(refused).rejects.toMatchObject({
      code: 'database_unreachable',
      exit: 69,
      message: expect.stringMatching(/^cannot open the embedded database in /),
    })
    await expect(refused).rejects.toThrow(reason)
  },
)
