import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, Failure } from '../../errors.ts'
import type { Checkpoint } from '../../store/audit/chain.ts'
import { type AuditKey, auditKey, newKeyPem, publicPem } from '../../store/audit/key.ts'
import { readProblem, readRegular } from '../../system/regular-file.ts'
import { replaceFile } from '../../system/replace-file.ts'

const files = {
  key: 'audit-key.pem',
  /** A key that takes over, from before the trail says so until it has. */
  nextKey: 'audit-key.next.pem',
  formerKey: 'audit-key.former.pem',
  publicKey: 'audit-key.pub.pem',
  head: 'audit-head.json',
  /** The head of a trail that is not continued, as after a restore. */
  formerHead: 'audit-head.former.json',
} as const

/** The current or the next key of the data folder; null if there is none. */
export async function readKeyFile(dataDir: string, name: 'key' | 'nextKey' = 'key'): Promise<AuditKey | null> {
  const path = join(dataDir, files[name])
  const pem = await contentOf(path)
  return pem === null ? null : auditKey(pem, path)
}

/** Makes the key of this data folder. If another process was quicker, returns its key. */
export async function makeKeyFile(dataDir: string): Promise<AuditKey> {
  const path = join(dataDir, files.key)
  const pem = newKeyPem()
  try {
    await writeFile(path, pem, { mode: 0o600, flag: 'wx', flush: true })
    return auditKey(pem, path)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
    const made = await readKeyFile(dataDir)
    if (made) return made
    throw error
  }
}

/** Makes the next key, which is used after `takeNextKey`. */
export async function makeNextKey(dataDir: string): Promise<AuditKey> {
  const pem = newKeyPem()
  const path = join(dataDir, files.nextKey)
  await replaceFile(path, (draft) => draft.writeFile(pem))
  return auditKey(pem, path)
}

/** Makes the next key the current one. The previous key is kept, since only it can verify its digests. */
export async function takeNextKey(dataDir: string): Promise<void> {
  const path = join(dataDir, files.key)
  await rename(path, join(dataDir, files.formerKey)).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error
  })
  await rename(join(dataDir, files.nextKey), path)
}

/** Writes the public key for those who verify the log, unless it is already there. */
export async function writePublicKey(dataDir: string, publicKey: string): Promise<void> {
  const path = join(dataDir, files.publicKey)
  const pem = publicPem(publicKey)
  if ((await contentOf(path)) !== pem) await replaceFile(path, (draft) => draft.writeFile(pem), { mode: 0o644 })
}

/** The public key in PEM; null if there is none. */
export async function readPublicKey(dataDir: string): Promise<string | null> {
  return await contentOf(join(dataDir, files.publicKey))
}

/** The last signed head; null if nothing was signed. Throws `audit_broken` for a damaged file. */
export async function readHead(dataDir: string): Promise<Checkpoint | null> {
  const path = join(dataDir, files.head)
  const text = await contentOf(path)
  if (text === null) return null
  try {
    const { ordinal, previous, hash, at, key, signature } = JSON.parse(text)
    if (Number.isSafeInteger(ordinal) && typeof hash === 'string')
      return { ordinal, previous, hash, at, key, signature }
  } catch {
    // Reported below, like a file with other content.
  }
  throw new Failure('audit_broken', `${path}, the copy of the head that was signed last, cannot be understood`)
}

/** Stores the last signed head outside of the database. */
export async function writeHead(dataDir: string, head: Checkpoint): Promise<void> {
  await replaceFile(join(dataDir, files.head), (draft) => draft.writeFile(`${JSON.stringify(head)}\n`))
}

/** Moves the head to another file, because its log is not continued. */
export async function moveHeadAside(dataDir: string): Promise<void> {
  await rename(join(dataDir, files.head), join(dataDir, files.formerHead)).catch((error: unknown) => {
    if (errorCode(error) !== 'ENOENT') throw error
  })
}

async function contentOf(path: string): Promise<string | null> {
  try {
    return await readRegular(path)
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    const help = 'run the command as the account of the daemon'
    throw new Failure('config_invalid', `${path} cannot be read${readProblem(error, help)}`, { cause: error })
  }
}
