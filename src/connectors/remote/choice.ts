import type { OpenOptions } from '../connector.ts'
import { type AsOf, timeOfFile } from '../file/as-of.ts'
import { type Completeness, companionNames, waitUntilQuiet } from '../file/completeness.ts'
import type { ExportFile } from '../file/export-file.ts'
import { noMarker, noMatch, unreadable } from '../file/failures.ts'
import { compareNames } from '../file/names.ts'

// The server's clock may differ. Only a file dated at least a day back is quiet without a second listing.
const clockAllowanceMs = 24 * 60 * 60 * 1000

/** The settings that decide which export is read. */
export type ChoiceSettings = {
  readonly take: 'newest' | 'each'
  readonly complete: Completeness
  readonly maxBytes: number
  readonly asOf: AsOf
  readonly timeZone: string
}

/** The files on a server that match the pattern of a source. */
export type RemoteMatches<File, Companion> = {
  readonly files: readonly File[]
  /** Their markers and side files, by name. Only regular files. */
  readonly companions: ReadonlyMap<string, Companion>
}

/** What was changed last at a time that is known. */
export type HasModificationTime = { readonly modifiedAtMs: number }

/** Where exports arrive on a server. */
export type RemoteFolder<File extends ExportFile, Companion extends HasModificationTime> = {
  /** The server or bucket, as messages name it. */
  readonly server: string
  /** The pattern of the exports, as messages name it. */
  readonly pattern: string
  readonly findMatches: () => Promise<RemoteMatches<File, Companion>>
  /** Refuses a file that cannot be read as an export. */
  readonly checkFile: (file: File) => void
}

/** The export that is read next. */
export type ChosenRemoteExport<File, Companion> = {
  readonly file: File
  /** More new exports wait to be read after this one. */
  readonly more: boolean
  readonly companions: ReadonlyMap<string, Companion>
}

type ChoiceOptions = Pick<OpenOptions, 'findDecided' | 'isNewest'>

/** The export to read next, once it is quiet and has its marker; null if `take: each` finds nothing new. */
export async function chooseRemoteExport<File extends ExportFile, Companion extends HasModificationTime>(
  folder: RemoteFolder<File, Companion>,
  settings: ChoiceSettings,
  { signal, onWait, ...options }: ChoiceOptions & Pick<OpenOptions, 'signal' | 'onWait'>,
): Promise<ChosenRemoteExport<File, Companion> | null> {
  const { quietSeconds, marker } = settings.complete
  const list = async () => {
    const chosen = await choose(folder, settings, options)
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

async function choose<File extends ExportFile, Companion extends HasModificationTime>(
  folder: RemoteFolder<File, Companion>,
  choice: ChoiceSettings,
  { findDecided, isNewest = false }: ChoiceOptions,
): Promise<ChosenRemoteExport<File, Companion> | null> {
  const { files, companions } = await folder.findMatches()
  const label = `${folder.pattern} on ${folder.server}`
  const complete = files.filter((file) => isMarked(file, choice.complete, companions))
  if (complete.length === 0 && files.length > 0) throw noMarker(label, choice.complete.marker)
  const inTurn = oldestFirst(choice)
  if (choice.take === 'each' && !isNewest) {
    const fresh = await findFresh(complete.toSorted(inTurn), findDecided)
    const file = fresh[0]
    if (!file) return null
    checkChosen(file, folder, choice.maxBytes)
    return { file, more: fresh.length > 1, companions }
  }
  const newest = choice.take === 'each' ? complete.toSorted(inTurn).at(-1) : complete.toSorted(newestFirst)[0]
  if (!newest) throw noMatch(label)
  checkChosen(newest, folder, choice.maxBytes)
  return { file: newest, more: false, companions }
}

function checkChosen<File extends ExportFile>(
  file: File,
  { server, checkFile }: Pick<RemoteFolder<File, HasModificationTime>, 'server' | 'checkFile'>,
  maxBytes: number,
): void {
  checkFile(file)
  if (file.bytes <= maxBytes) return
  const problem = `${file.name} on ${server} is ${file.bytes} bytes long, and maxBytes allows ${maxBytes}`
  throw unreadable(problem, 'check the export, or raise maxBytes')
}

/** Whether the file has its marker. An older marker belongs to an earlier export of the same name. */
function isMarked(
  file: ExportFile,
  { marker }: Completeness,
  companions: ReadonlyMap<string, HasModificationTime>,
): boolean {
  if (!marker) return true
  return companionNames(file.name, marker).some((name) => {
    const companion = companions.get(name)
    return companion !== undefined && companion.modifiedAtMs >= file.modifiedAtMs
  })
}

async function findFresh<File extends ExportFile>(
  files: readonly File[],
  findDecided: OpenOptions['findDecided'],
): Promise<readonly File[]> {
  if (files.length === 0) return files
  const decided = await findDecided(files.map(({ version }) => version))
  return files.filter(({ version }) => !decided.has(version))
}

function oldestFirst(settings: ChoiceSettings): (one: ExportFile, other: ExportFile) => number {
  const timeOf = (file: ExportFile) => timeOfFile(file, settings) ?? file.modifiedAtMs
  return (one, other) => timeOf(one) - timeOf(other) || compareNames(one.name, other.name)
}

function newestFirst(one: ExportFile, other: ExportFile): number {
  return other.modifiedAtMs - one.modifiedAtMs || compareNames(other.name, one.name)
}
