import { mkdir, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Kysely } from 'kysely'
import { errorCode, Failure } from '../../errors.ts'
import { replaceFile } from '../../system/replace-file.ts'
import { createKey, findCaller, listKeys, revokeKey } from '../accounts/api-keys.ts'
import type { PlatformSchema } from '../core/schema.ts'

const keyName = 'key file'

/**
 * Makes sure that `path` holds an all-access key of the first account that works, readable by its owner only.
 * A key that works stays; otherwise a new one is made, and earlier ones that were made for a key file end.
 */
export async function ensureKeyFile(db: Kysely<PlatformSchema>, path: string, now: Date): Promise<void> {
  const kept = await readKey(path)
  if (kept !== null && (await findCaller(db, { key: kept, address: null, now }))) return
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
