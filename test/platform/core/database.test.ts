import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openDatabase } from '../../../src/database/database.ts'
import { openPlatformDatabase } from '../../../src/platform/core/database.ts'
import { createEmptyPostgresDatabase } from '../../helpers/servers/databases.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'

test.each(['PostgreSQL', 'the embedded database'])(
  'a platform of a development version from before the first release is refused: %s',
  async (kind) => {
    await using server = await createEmptyPostgresDatabase()
    await using folder = await temporaryFolder()
    const at = kind === 'PostgreSQL' ? server.at : join(folder.path, 'platform')
    const former = [{ name: '0001-accounts', sql: 'create table accounts (id int)' }]
    const database = await openDatabase({ at, schemas: ['platform'], migrations: former })
    await database[Symbol.asyncDispose]()

    await expect(openPlatformDatabase(at)).rejects.toMatchObject({
      code: 'config_invalid',
      exit: 78,
      message: expect.stringMatching(
        /"platform" of .* was written by a development version .*"0001-accounts".*: begin with an empty database or folder/,
      ),
    })
  },
)
