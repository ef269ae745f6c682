import type { OpenOptions } from '../connector.ts'
import { type AsOf, timeOfFile } from '../file/as-of.ts'
import { type Completeness, companionNames, companionSuffixes, waitUntilQuiet } from '../file/completeness.ts'
import { unreadable } from '../file/failures.ts'
import { compareNames } from '../file/names.ts'
import { findMatches, type RemoteFile, type RemoteMatches, requireRegularFile, parseRemotePattern } from './matches.ts'
import type { SftpSession } from './session.ts'
import type { RemoteStats } from './stats.ts'

// The server's clock is not ours. Only a file that it dates at least a day back counts as quiet without a second look.
const clockAllowanceMs = 24 * 60 * 60 * 1000

type ChoiceSettings = {
  readonly path: string
  readonly take: 'newest' | 'each'
  readonly complete: Completeness
  readonly maxBytes: number
  readonly asOf: AsOf
  readonly timeZone: string
}

export type ChosenRemoteExport = {
  readonly file: RemoteFile
  /** More new exports wait to be read after this one. */
  readonly more: boolean
  readonly companions: ReadonlyMap<string, RemoteStats>
}

/** The export to be read next, once it is complete as far as that can be seen from outside; null if `each` finds nothing new. */
export async function chooseExport(
  session: SftpSession,
  choice: ChoiceSettings,
  { findDecided, signal, onWait }: Pick<OpenOptions, 'findDecided' | 'signal' | 'onWait'>,
): Promise<ChosenRemoteExport | null> {
  const { quietSeconds, marker } = choice.complete
  const look = async () => {
    const chosen = await choose(session, choice, findDecided)
    if (!chosen) return null
    const { file } = chosen
    return { chosen, file: { ...file, modifiedAtMs: file.modifiedAtMs + clockAllowanceMs } }
  }
  // A listing may take longer than the quiet period, which begins after the first listing.
  const first = [await look()]
  const find = async () => first.pop() ?? look()
  const found = await waitUntilQuiet(find, { quietSeconds: marker ? 0 : quietSeconds, signal, onWait })
  return found?.chosen ?? null
}

async function choose(
  session: SftpSession,
  choice: ChoiceSettings,
  findDecided: OpenOptions['findDecided'],
): Promise<ChosenRemoteExport | null> {
  const matches = await findMatches(session, parseRemotePattern(choice.path), companionSuffixes(choice.complete))
  const link = matches.files.find(({ kind }) => kind === 'link')
  if (link) requireRegularFile(link, session.server)
  const complete = matches.files.filter((file) => isMarked(file, choice.complete, matches))
  if (complete.length === 0 && matches.files.length > 0) throw noMarker(session, choice)
  if (choice.take === 'each') {
    const fresh = await findFresh(complete.toSorted(oldestFirst(choice)), findDecided)
    const file = fresh[0]
    return file ? chosen(file, fresh.length > 1) : null
  }
  const newest = complete.toSorted(newestFirst)[0]
  if (newest) return chosen(newest, false)
  const { path } = choice
  throw unreadable(`no file matches ${path} on ${session.server}`, 'check the path, and whether the export has arrived')

  function chosen(file: RemoteFile, more: boolean): ChosenRemoteExport {
    const { maxBytes } = choice
    requireRegularFile(file, session.server)
    if (file.bytes <= maxBytes) return { file, more, companions: matches.companions }
    const what = `${file.name} on ${session.server} is ${file.bytes} bytes long, and maxBytes allows ${maxBytes}`
    throw unreadable(what, 'check the export, or raise maxBytes')
  }
}

function isMarked(file: RemoteFile, { marker }: Completeness, { companions }: RemoteMatches): boolean {
  if (!marker) return true
  return companionNames(file.name, marker).some((name) => {
    const found = companions.get(name)
    return found?.kind === 'file' && found.modifiedAtMs >= file.modifiedAtMs
  })
}

async function findFresh(
  files: readonly RemoteFile[],
  findDecided: OpenOptions['findDecided'],
): Promise<readonly RemoteFile[]> {
  if (files.length === 0) return files
  const decided = await findDecided(files.map(({ version }) => version))
  return files.filter(({ version }) => !decided.has(version))
}

function oldestFirst(clock: ChoiceSettings): (one: RemoteFile, other: RemoteFile) => number {
  const timeOf = (file: RemoteFile) => timeOfFile(file, clock) ?? file.modifiedAtMs
  return (one, other) => timeOf(one) - timeOf(other) || compareNames(one.name, other.name)
}

function newestFirst(one: RemoteFile, other: RemoteFile): number {
  return other.modifiedAtMs - one.modifiedAtMs || compareNames(other.name, one.name)
}

function noMarker({ server }: SftpSession, { path, complete: { marker } }: ChoiceSettings) {
  return unreadable(
    `nothing that matches ${path} on ${server} has its marker (${marker})`,
    'the marker has to be written after its export, beside it; check complete.marker, and whether the export is complete',
  )
}
