import { randomBytes } from 'node:crypto'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { errorCode, Failure } from '../../errors.ts'
import { replaceFile } from '../../system/replace-file.ts'
import type { Secret } from '../config/secret.ts'

const tokenBytes = 32

type TokenPlace = { readonly dataDir: string; readonly configured: Secret | null }

/** The token that the control API asks for: the configured one, else one that is made once and kept in the data folder. */
export async function ensureControlToken(place: TokenPlace): Promise<string> {
  const known = await readControlToken(place)
  if (known !== null) return known
  const token = randomBytes(tokenBytes).toString('base64url')
  try {
    await writeFile(tokenFile(place), `${token}\n`, { mode: 0o600, flag: 'wx' })
    return token
  } catch (error) {
    // Another daemon on the same folder may have been quicker. Its token then counts.
    const made = await readControlToken(place)
    if (made !== null) return made
    if (errorCode(error) !== 'EEXIST') throw error
    // A process that was killed while it made the token leaves an empty file.
    await replaceFile(tokenFile(place), (draft) => draft.writeFile(`${token}\n`))
    return token
  }
}

/** The token for who wants to use the control API; null where no daemon has made one yet. */
export async function readControlToken(place: TokenPlace): Promise<string | null> {
  if (place.configured) return await place.configured.read()
  try {
    const token = (await readFile(tokenFile(place), 'utf8')).trim()
    return token === '' ? null : token
  } catch (error) {
    const code = errorCode(error)
    if (code === 'ENOENT' || code === 'ENOTDIR') return null
    const help = 'run the command as the account of the daemon'
    throw new Failure('config_invalid', `${tokenFile(place)} cannot be read (${code}): ${help}`, { cause: error })
  }
}

function tokenFile({ dataDir }: TokenPlace): string {
  return join(dataDir, 'control-token')
}
