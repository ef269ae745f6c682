import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Kysely } from 'kysely'
import { errorCode, Failure } from '../../errors.ts'
import { replaceFile } from '../../system/replace-file.ts'
import { createKey, findCaller, listKeys, revokeKey } from '../accounts/api-keys.ts'
import type { PlatformSchema } from '../core/schema.ts'

const keyName = 'key file'

/**
 * Ensures that the file contains a usable all-access key of the first account, readable by its owner only. If its key is not usable, it
 * creates a new one and revokes earlier keys of key files.
 */
export async function ensureKeyFile(db: Kysely<PlatformSchema>, path: string, now: Date): Promise<void> {
  const stored = await readKey(path)
  if (stored !== null && (await findCaller(db, { key: stored, address: null, now }))) return
  const account = await db.selectFrom('accounts').select('name').orderBy('id').limit(1).executeTakeFirst()
  if (!account) throw new Failure('usage', `there is no account to make the key in ${path} for; give --seed as well`)
  for (const { id } of (await listKeys(db, now)).filter(({ name }) => name === keyName)) await revokeKey(db, id, now)
  const { key } = await createKey(
    db,
    { account: account.name, name: keyName, permissions: 'all', expiresAt: null },
    now,
  )
  await writeKey(path, key)
}

async function readKey(path: string): Promise<string | null> {
  try {
    const key = (await readFile(path, 'utf8')).trim()
    return key === '' ? null : key
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null
    throw error
  }
}

async function writeKey(path: string, key: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true })
  await replaceFile(path, (draft) => draft.writeFile(`${key}\n`))
}
