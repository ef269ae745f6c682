import { type Completeness, companionSuffixes } from '../file/completeness.ts'
import type { RemoteFolder } from '../remote/choice.ts'
import { findMatches, parseRemotePattern, type RemoteFile, requireRegularFile } from './matches.ts'
import type { SftpSession } from './session.ts'
import type { RemoteStats } from './stats.ts'

/** Where the exports of a source arrive. */
export function folderOf(
  session: SftpSession,
  { path, complete }: { readonly path: string; readonly complete: Completeness },
): RemoteFolder<RemoteFile, RemoteStats> {
  const { server } = session
  return {
    server,
    pattern: path,
    findMatches: async () => {
      const matches = await findMatches(session, parseRemotePattern(path), companionSuffixes(complete))
      const link = matches.files.find(({ kind }) => kind === 'link')
      if (link) requireRegularFile(link, server)
      return matches
    },
    checkFile: (file) => requireRegularFile(file, server),
  }
}
