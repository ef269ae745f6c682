import { statfs } from 'node:fs/promises'
import { errorCode } from '../errors.ts'

/** With less than this left, PostgreSQL cannot write the file of its log that a start needs. */
const neededBytes = 24 * 1024 * 1024

const damaged =
  'its files are damaged, or another program has changed them: put a backup in its place, and keep the damaged folder until then'

const engineWords = /PGlite|wasm|Aborted|ASSERTIONS|not a database/i

const codes: Readonly<Record<string, string>> = {
  ENOSPC: 'its disk is full: free some space',
  EDQUOT: 'the quota of its account is used up: free some space',
  EACCES: 'its files cannot be read or written: give them to the account that runs Rollcall',
  EPERM: 'its files cannot be read or written: give them to the account that runs Rollcall',
  EROFS: 'its disk takes no writes: mount it to be written, or name another dataDir',
  ENOENT: damaged,
  ENOTDIR: damaged,
  EMFILE: 'too many files are open: raise the limit of open files',
}

/**
 * Why an embedded database could not be opened, and what helps. The engine itself says no more than that it has ended, or what its
 * compiler left in it, so the disk is looked at.
 */
export async function embeddedReason(error: unknown, folder: string): Promise<string> {
  const code = errorCode(error) ?? ''
  const { name, message } = error instanceof Error ? error : { name: '', message: '' }
  if (name === 'CompileError' || /pglite\.(?:wasm|data)|initdb\.wasm/.test(message))
    return 'a file of the package @electric-sql/pglite is missing or damaged: run "npm ci" again'
  if (name === 'RangeError' && /memory/i.test(message))
    return 'there is too little memory for it: give the machine more'
  const known = codes[code]
  if (known !== undefined) return known === damaged ? damaged : `${known} (${code})`
  const leftBytes = await free(folder)
  if (leftBytes !== null && leftBytes < neededBytes)
    return `its disk is full (${Math.floor(leftBytes / 1024 / 1024)} MiB left): free some space`
  // Errors of ours are written for people; the engine's are not.
  return name === 'Error' && !engineWords.test(message) ? message : damaged
}

async function free(folder: string): Promise<number | null> {
  try {
    const { bavail, bsize } = await statfs(folder)
    return bavail * bsize
  } catch {
    return null
  }
}
