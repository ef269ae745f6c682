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

/** The failure for a source that cannot be used until a person changes something: `problem` and `help` form the message. */
export function unreadable(problem: string, help: string, options?: ErrorOptions): Failure {
  return new Failure('source_unreadable', `${problem}: ${help}`, options)
}

/** The failure for a source that may work again by itself: the network is down, or a server is busy. */
export function unreachable(problem: string, help: string, options?: ErrorOptions): Failure {
  return new Failure('source_unreachable', `${problem}: ${help}`, options)
}

/** Runs a step that writes to `folder`. An error of the operating system becomes a failure that names the folder. */
export async function writingTo<T>(folder: string, step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof Error && 'syscall' in error)) throw error
    const problem = `cannot write to ${folder}: the system answered ${errorCode(error) ?? 'an unknown error'}`
    throw unreadable(problem, 'check the free space and the permissions of dataDir', { cause: error })
  }
}

/** The failure for a path that the operating system does not let us read. */
export function cannotRead(path: string, error: unknown): Failure {
  const code = errorCode(error) ?? 'an unknown error'
  return unreadable(`cannot read ${path}`, helpByCode[code] ?? `the system answered ${code}`, { cause: error })
}

/** The failure for a path at which there is nothing. */
export function missingFile(path: string): Failure {
  return unreadable(`cannot read ${path}`, noSuchFile)
}

/** What a path leads to. */
export type FileKind = 'file' | 'folder' | 'link' | 'other'

/** Refuses anything but a regular file. `label` names it in the failure. */
export function checkRegularFile(label: string, kind: FileKind): void {
  if (kind === 'link') throw symbolicLink(label)
  if (kind === 'folder') throw unreadable(`${label} is a folder`, 'name a file in it, or a pattern such as *.csv')
  if (kind === 'other') throw unreadable(`${label} is no regular file`, 'write the export to a file first')
}

/** Refuses an empty export. */
export function checkNotEmpty(label: string, bytes: number): void {
  if (bytes > 0) return
  throw unreadable(`${label} is empty (0 bytes)`, 'check the export; an empty file says nothing about anybody')
}

/** The failure for a path or pattern that no file matches. */
export function noMatch(label: string, hint = ''): Failure {
  return unreadable(`no file matches ${label}`, `check the path, and whether the export has arrived${hint}`)
}

/** The failure for exports of which none has its marker. */
export function noMarker(label: string, marker: string | undefined): Failure {
  return unreadable(
    `nothing that matches ${label} has its marker (${marker})`,
    'the marker has to be written after its export, beside it; check complete.marker, and whether the export is complete',
  )
}

/** The failure for an archive that holds too many files with the same name and time. */
export function noFreeName(folder: string, { stamp, name, attempts }: ArchiveName): Failure {
  return unreadable(`${folder} holds ${attempts} files named ${stamp}-…-${name}`, 'move them elsewhere')
}

type ArchiveName = { readonly stamp: string; readonly name: string; readonly attempts: number }

/** The failure for a symbolic link in place of an export. */
export function symbolicLink(path: string): Failure {
  return unreadable(
    `${path} is a symbolic link`,
    'links are not followed, since they can lead anywhere: name the file that it points to, or a pattern that leaves it out',
  )
}
