import { isUtf8 } from 'node:buffer'
import { constants } from 'node:fs'
import { access, open, readFile, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode, Failure } from '../../errors.ts'
import { removeDrafts, replaceFile } from '../../system/replace-file.ts'

/** A draft that is older was left by a process that was killed. */
const maxDraftMs = 60_000
const help = 'let the account of the daemon write it, or put the text there yourself'

/**
 * The text of the file of a configuration that is to be replaced. Throws `conflict` if it cannot be read, or is not UTF-8: its other bytes
 * would be lost.
 */
export async function readReplaceable(file: string): Promise<string> {
  const bytes = await readFile(file).catch((error: unknown) => {
    throw new Failure('conflict', `cannot read ${file} (${errorCode(error)}): put it back`, { cause: error })
  })
  if (isUtf8(bytes)) return bytes.toString('utf8')
  throw new Failure('conflict', `${file} is not UTF-8, so saving it here would lose characters: save it as UTF-8 first`)
}

/** Why the file of a configuration cannot be replaced; null: nothing speaks against it. `mounts`: where the system lists what is mounted. */
export async function whyNotWritable(file: string, mounts = '/proc/self/mountinfo'): Promise<string | null> {
  try {
    const path = await realpath(file)
    const { mode, uid, gid } = await stat(path)
    // Root could write it all the same, but it was made read-only on purpose.
    if ((mode & 0o222) === 0) return `${file} is read-only`
    await access(path, constants.W_OK)
    await access(dirname(path), constants.W_OK)
    if (await isMountPoint(path, mounts))
      return `${file} is mounted as a single file, which cannot be replaced (mount its folder)`
    return canGive(uid, gid) ? null : `replacing ${file} would change its owner or its group (${uid}:${gid})`
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT') return `${file} is gone`
    return `the daemon cannot write ${file}, or its folder (${code})`
  }
}

/**
 * Replaces the file of a configuration as a whole, with its mode and its owner: after a crash it is the old one or the new one. Throws
 * `conflict` if it cannot be written, or if it is not the text that it `replaces`; the file then stays.
 */
export async function writeConfig(
  file: string,
  text: string,
  { replaces }: { readonly replaces?: string } = {},
): Promise<void> {
  const trouble = await whyNotWritable(file)
  if (trouble !== null) throw new Failure('conflict', `${trouble}: ${help}`)
  try {
    const path = await realpath(file)
    const { mode, uid, gid } = await stat(path)
    await removeDrafts(path, new Date(Date.now() - maxDraftMs))
    await replaceFile(
      path,
      async (draft) => {
        await draft.writeFile(text)
        const own = await draft.stat()
        if (own.uid !== uid || own.gid !== gid) await draft.chown(uid, gid)
        await draft.chmod(mode & 0o777)
        await draft.sync()
        if (replaces !== undefined && (await readFile(path, 'utf8')) !== replaces)
          throw new Failure('conflict', `${file} has changed at this moment: look at it again`)
      },
      { mode: 0o600 },
    )
    await syncFolder(dirname(path))
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure('conflict', `cannot write ${file} (${errorCode(error)}): ${help}`, { cause: error })
  }
}

/** Whether a container has this file itself mounted: the system then refuses to rename another one to it. */
async function isMountPoint(path: string, list: string): Promise<boolean> {
  const mounts = await readFile(list, 'utf8').catch(() => '')
  const escaped = path.replaceAll(/[\\ \t\n]/g, (sign) => `\\${sign.charCodeAt(0).toString(8).padStart(3, '0')}`)
  return mounts.split('\n').some((line) => line.split(' ')[4] === escaped)
}

/** Whether this process may give a new file to this owner and this group. */
function canGive(uid: number, gid: number): boolean {
  const [user, groups] = [process.geteuid?.(), process.getgroups?.() ?? []]
  if (user === undefined || user === 0) return true
  return user === uid && [process.getegid?.(), ...groups].includes(gid)
}

/** Without this, a power cut could undo the rename. */
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder)
  await handle.sync()
}
