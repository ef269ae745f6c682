import type { OpenOptions } from '../connector.ts'
import { type AsOf, timeOfFile } from '../file/as-of.ts'
import { type Completeness, companionNames, companionSuffixes, waitUntilQuiet } from '../file/completeness.ts'
import { noMarker, noMatch, unreadable } from '../file/failures.ts'
import { compareNames } from '../file/names.ts'
import { findMatches, parseRemotePattern, type RemoteFile, type RemoteMatches, requireRegularFile } from './matches.ts'
import type { SftpSession } from './session.ts'
import type { RemoteStats } from './stats.ts'

// The server's clock may differ. Only a file dated at least a day back is quiet without a second listing.
const clockAllowanceMs = 24 * 60 * 60 * 1000

/** The settings that decide which export is read. */
type ChoiceSettings = {
  readonly path: string
  readonly take: 'newest' | 'each'
  readonly complete: Completeness
  readonly maxBytes: number
  readonly asOf: AsOf
  readonly timeZone: string
}

/** The export that is read next. */
export type ChosenRemoteExport = {
  readonly file: RemoteFile
  /** More new exports wait to be read after this one. */
  readonly more: boolean
  readonly companions: ReadonlyMap<string, RemoteStats>
}

/** The export to read next, once it is quiet and has its marker; null if `take: each` finds nothing new. */
export async function chooseExport(
  session: SftpSession,
  choice: ChoiceSettings,
  { findDecided, signal, onWait }: Pick<OpenOptions, 'findDecided' | 'signal' | 'onWait'>,
): Promise<ChosenRemoteExport | null> {
  const { quietSeconds, marker } = choice.complete
  const list = async () => {
    const chosen = await choose(session, choice, findDecided)
    if (!chosen) return null
    const { file } = chosen
    return { chosen, file: { ...file, modifiedAtMs: file.modifiedAtMs + clockAllowanceMs } }
  }
  // A listing may take longer than the quiet period, which begins after the first listing.
  const first = [await list()]
  const find = async () => first.pop() ?? list()
  const quiet = await waitUntilQuiet(find, { quietSeconds: marker ? 0 : quietSeconds, signal, onWait })
  return quiet?.chosen ?? null
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
  if (complete.length === 0 && matches.files.length > 0)
    throw noMarker(`${choice.path} on ${session.server}`, choice.complete.marker)
  const limits = { server: session.server, maxBytes: choice.maxBytes, companions: matches.companions }
  if (choice.take === 'each') {
    const fresh = await findFresh(complete.toSorted(oldestFirst(choice)), findDecided)
    const file = fresh[0]
    return file ? toChosen(file, { ...limits, more: fresh.length > 1 }) : null
  }
  const newest = complete.toSorted(newestFirst)[0]
  if (newest) return toChosen(newest, { ...limits, more: false })
  throw noMatch(`${choice.path} on ${session.server}`)
}

type ChosenInput = Omit<ChosenRemoteExport, 'file'> & { readonly server: string; readonly maxBytes: number }

function toChosen(file: RemoteFile, { server, maxBytes, ...chosen }: ChosenInput): ChosenRemoteExport {
  requireRegularFile(file, server)
  if (file.bytes <= maxBytes) return { file, ...chosen }
  const problem = `${file.name} on ${server} is ${file.bytes} bytes long, and maxBytes allows ${maxBytes}`
  throw unreadable(problem, 'check the export, or raise maxBytes')
}

/** Whether the file has its marker. An older marker belongs to an earlier export of the same name. */
function isMarked(file: RemoteFile, { marker }: Completeness, { companions }: RemoteMatches): boolean {
  if (!marker) return true
  return companionNames(file.name, marker).some((name) => {
    const companion = companions.get(name)
    return companion?.kind === 'file' && companion.modifiedAtMs >= file.modifiedAtMs
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
