import { resolve } from 'node:path'
import { Failure } from '../errors.ts'
import { pathFrom } from '../system/path-from.ts'
import { readProblem, readRegular } from '../system/regular-file.ts'

/** The beginning of an export, decrypted and unpacked; of a workbook, all of its archive. */
export type Head = {
  /** Its name in messages. */
  readonly name: string
  readonly bytes: Buffer
  /** Whether this is all of it. */
  readonly isWhole: boolean
  /** Whether the export ends with a line end; null where that is not known, or means nothing. */
  readonly hasFinalLineEnd: boolean | null
  readonly isWorkbook?: true
}

/** Where later exports may be if a person named one file without a date in its name. Paths are as the configuration writes them. */
type LaterExportsHint = {
  readonly path: string
  readonly pattern: string
  /** Whether no other file matches the pattern now. */
  readonly isAlone: boolean
}

/** The beginning of an export, and the settings of the source that found it. */
export type ExportPreview = {
  readonly head: Head
  readonly source: Readonly<Record<string, unknown>>
  /** Set for a single file without a date in its name; null for any other source. */
  readonly laterExports: LaterExportsHint | null
}

/** The first records of a list, as rows below paths such as `emails.0.value`. */
export type ListStart = {
  /** Its name in messages. */
  readonly name: string
  readonly headers: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Whether these seem to be all records. */
  readonly isWhole: boolean
  /** How the list is read, and what it does not show. */
  readonly notes: readonly string[]
}

/** The first records of a list, and the settings of the source that found it. */
type ListDiscovery = Pick<ExportPreview, 'source' | 'laterExports'> & { readonly list: ListStart }

/** What a source holds: an export, or a list of records. */
export type SourcePreview = ExportPreview | ListDiscovery

/** A source as a person names it on the command line or on a console page. */
export type NamedSource = {
  /** A file, a folder, a pattern, or an address such as sftp://…. */
  readonly location: string
  /** The file of the secret that the source needs: a password, a private key or a token. */
  readonly secretFile?: string
  /** The fingerprint of the server's host key, where the source has one. */
  readonly hostKey?: string
  /** Further settings by their path, such as `records`. */
  readonly settings?: ReadonlyMap<string, string>
}

/** What a preview needs besides the name of the source. */
export type DiscoveryOptions = {
  readonly workingDirectory: string
  /** The folder of the configuration that will be written. Its paths are relative to it. */
  readonly configFolder: string
  readonly signal: AbortSignal
}

/** How a kind of source finds an export by the name that a person gives. */
export type Discovery = {
  /** The schemes of its addresses, such as `https:`, the recommended one first. Empty: local paths. */
  readonly schemes: readonly string[]
  /** Reads only the beginning of the newest export, or of a list. */
  readonly preview: (named: NamedSource, options: DiscoveryOptions) => Promise<SourcePreview>
}

/** Maximum number of bytes that are read from an export for a preview, or fetched from a server. */
export const headBytes = 32 * 1024 * 1024

/** Maximum number of rows or records that are looked at for a preview. A million would take five seconds and over a gigabyte. */
export const maxPreviewRows = 100_000

/** Maximum number of cells of a preview, counted below all columns or paths. */
export const maxPreviewCells = 2_000_000

/** A reference to the file of a secret, as the configuration writes it. */
export function secretFileReference(file: string, { workingDirectory, configFolder }: DiscoveryOptions): string {
  return `\${file:${pathFrom(configFolder, resolve(workingDirectory, file))}}`
}

/** What a person says of the list in a JSON file. */
export type GivenList = {
  /** The pointer to its records. */
  readonly records?: string | undefined
  /** Pointers to members about something else, separated by commas. */
  readonly ignoredStatements?: string | undefined
}

/** The settings of a JSON file that a person can give. */
export const listSettingNames: readonly string[] = ['records', 'ignoredStatements'] satisfies (keyof GivenList)[]

/** What a person gave for the list in a JSON file. Throws a `usage` failure for any other setting. */
export function givenList(given: NamedSource['settings'] = new Map()): GivenList {
  const other = [...given.keys()].find((path) => !listSettingNames.includes(path))
  if (other === undefined) return { records: given.get('records'), ignoredStatements: given.get('ignoredStatements') }
  const names = listSettingNames.join(' and ')
  throw new Failure('usage', `--set takes only ${names} for a JSON file: write ${other} into the configuration`)
}

/** How a person gives the pointer to the records, as messages say it. */
export function recordsOption(pointer: string): string {
  return `--set 'records=${pointer}'`
}

/** Refuses `${` in what a server or a file states: the configuration would read it as a reference to a file or a variable. */
export function refuseReferences(settings: unknown, label: string): void {
  if (!JSON.stringify(settings).includes('${')) return
  throw new Failure(
    'source_unreadable',
    `${label}: the address or a name in it holds \${: write the source into the configuration by hand`,
  )
}

/** The text in the file of a secret. Throws a `usage` failure if it cannot be read. */
export async function readSecretFile(file: string, { workingDirectory }: DiscoveryOptions): Promise<string> {
  try {
    return (await readRegular(resolve(workingDirectory, file))).trim()
  } catch (error) {
    const problem = readProblem(error, 'name the file of the secret with --secret-file')
    throw new Failure('usage', `cannot read ${file}${problem}`, { cause: error })
  }
}

/** The result of `safeParse`. */
type ParseResult<T> = {
  readonly data?: T
  readonly error?: { readonly issues: readonly { readonly message: string }[] } | undefined
}

/** The parsed settings. Throws a `usage` failure with the issues of the schema. */
export function requireSettings<T>({ data, error }: ParseResult<T>): T {
  if (data !== undefined) return data
  throw new Failure('usage', `the source cannot be used: ${error?.issues.map(({ message }) => message).join('; ')}`)
}
