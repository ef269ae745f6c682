import { errorCode, Failure } from '../errors.ts'

/** How the system says that a file of this process could not be written for want of room. A database says it without a system call. */
type FileError = Error & { readonly syscall: string; readonly path?: string }

function isDiskFull(error: unknown): error is FileError {
  return error instanceof Error && 'syscall' in error && /^(?:ENOSPC|EDQUOT)$/.test(errorCode(error) ?? '')
}

/** The failure behind an error of a file on a full disk; null for every other error. `path`: the file, where the error does not name it. */
export function diskFullFailure(error: unknown, path?: string): Failure | null {
  if (!isDiskFull(error)) return null
  const file = error.path ?? path
  const what = file === undefined ? 'a file' : file
  return new Failure(
    'disk_full',
    `cannot write ${what}: its disk is full (${errorCode(error)}); free some space on it`,
    { cause: error },
  )
}
