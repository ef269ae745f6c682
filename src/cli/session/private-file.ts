import { constants, open } from 'node:fs/promises'
import { errorCode, Failure } from '../../errors.ts'

/**
 * Writes a file about people. Only its owner may read it, even if the file existed before and others could read it. A file of another account is
 * refused before it is emptied.
 */
export async function writePrivateFile(file: string, content: string | Uint8Array): Promise<void> {
  try {
    await using opened = await open(file, constants.O_WRONLY | constants.O_CREAT, 0o600)
    if ((await opened.stat()).isFile()) {
      await opened.chmod(0o600)
      await opened.truncate()
    }
    await opened.writeFile(content)
  } catch (error) {
    throw new Failure('usage', `${file} cannot be written (${errorCode(error)})`, { cause: error })
  }
}
