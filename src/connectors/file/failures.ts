import { errorCode, Failure } from '../../errors.ts'

const noSuchFile = 'there is no such file or folder; check the path'

const helpByCode: Readonly<Record<string, string>> = {
  ENOENT: noSuchFile,
  EACCES: 'permission denied; let the account that runs Rollcall read it',
  EPERM: 'permission denied; let the account that runs Rollcall read it',
  ENOTDIR: 'a part of the path is no folder; check the path',
  ELOOP: 'its symbolic links run in a circle',
  ENAMETOOLONG: 'the path is too long',
}

/** A source that cannot be used until a person changes something: `what` is wrong, and `help` says what to do. */
export function unreadable(what: string, help: string, options?: ErrorOptions): Failure {
  return new Failure('source_unreadable', `${what}: ${help}`, options)
}

/** A source that may work again by itself, because the network is down or a server is busy. */
export function unreachable(what: string, help: string, options?: ErrorOptions): Failure {
  return new Failure('source_unreachable', `${what}: ${help}`, options)
}

/** The operating system does not let us read `path`. */
export function cannotRead(path: string, error: unknown): Failure {
  const code = errorCode(error) ?? 'an unknown error'
  return unreadable(`cannot read ${path}`, helpByCode[code] ?? `the system answered ${code}`, { cause: error })
}

export function missingFile(path: string): Failure {
  return unreadable(`cannot read ${path}`, noSuchFile)
}

export function symbolicLink(path: string): Failure {
  return unreadable(
    `${path} is a symbolic link`,
    'links are not followed, since they can lead anywhere: name the file that it points to, or a pattern that leaves it out',
  )
}
