import type { OpenOptions } from '../connector.ts'
import { companionSuffixes } from '../file/completeness.ts'
import { type ChoiceSettings, type ChosenRemoteExport as Chosen, chooseRemoteExport } from '../remote/choice.ts'
import { findMatches, parseRemotePattern, type RemoteFile, requireRegularFile } from './matches.ts'
import type { SftpSession } from './session.ts'
import type { RemoteStats } from './stats.ts'

/** The export that is read next. */
export type ChosenRemoteExport = Chosen<RemoteFile, RemoteStats>

/** The export to read next, once it is quiet and has its marker; null if `take: each` finds nothing new. */
export async function chooseExport(
  session: SftpSession,
  choice: ChoiceSettings & { readonly path: string },
  options: Pick<OpenOptions, 'findDecided' | 'signal' | 'onWait'>,
): Promise<ChosenRemoteExport | null> {
  const { server } = session
  const folder = {
    server,
    pattern: choice.path,
    findMatches: async () => {
      const matches = await findMatches(session, parseRemotePattern(choice.path), companionSuffixes(choice.complete))
      const link = matches.files.find(({ kind }) => kind === 'link')
      if (link) requireRegularFile(link, server)
      return matches
    },
    checkFile: (file: RemoteFile) => requireRegularFile(file, server),
  }
  return await chooseRemoteExport(folder, choice, options)
}
