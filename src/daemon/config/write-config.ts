import { constants } from 'node:fs'
import { access, open, readFile, realpath, stat } from 'node:fs/promises'
import { dirname } from 'node:path'
import { errorCode, Failure } from '../../errors.ts'
import { replaceFile } from '../../system/replace-file.ts'

const help = 'let the account of the daemon write it, or put the text there yourself'

/** Why the file of a configuration cannot be replaced; null: nothing speaks against it. */
export async function whyNotWritable(file: string): Promise<string | null> {
  try {
    const path = await realpath(file)
    const { mode } = await stat(path)
    // Root may write it all the same, but somebody meant that nobody does.
    if ((mode & 0o222) === 0) return `${file} is read-only`
    await access(path, constants.W_OK)
    await access(dirname(path), constants.W_OK)
    return null
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
    await replaceFile(
      path,
      async (draft) => {
        await draft.writeFile(text)
        const own = await draft.stat()
        if (own.uid !== uid || own.gid !== gid) await draft.chown(uid, gid)
        await draft.chmod(mode & 0o777)
        await draft.sync()
        if (replaces !== undefined && (await readFile(path, 'utf8')) !== replaces)
          throw new Failure('conflict', `${file} was changed by somebody else at this moment: look at it again`)
      },
      { mode: 0o600 },
    )
    await syncFolder(dirname(path))
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure('conflict', `cannot write ${file} (${errorCode(error)}): ${help}`, { cause: error })
  }
}

/** Without this, a power cut could undo the rename. */
async function syncFolder(folder: string): Promise<void> {
  await using handle = await open(folder)
  await handle.sync()
}
