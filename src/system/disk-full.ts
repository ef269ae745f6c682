import { errorCode, Failure } from '../errors.ts'

/** A system error about a file. Databases report a full disk without the name of a system call. */
type FileError = Error & { readonly syscall: string; readonly path?: string }

function isDiskFull(error: unknown): error is FileError {
  return error instanceof Error && 'syscall' in error && /^(?:ENOSPC|EDQUOT)$/.test(errorCode(error) ?? '')
}

/** A `disk_full` failure if a file could not be written because its disk is full; else null. `path`: used if the error names no file. */
export function diskFullFailure(error: unknown, path?: string): Failure | null {
  if (!isDiskFull(error)) return null
  const file = error.path ?? path ?? 'a file'
  return new Failure(
    'disk_full',
    `cannot write ${file}: its disk is full (${errorCode(error)}); free some space on it`,
    { cause: error },
  )
}
