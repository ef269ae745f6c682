import { resolve } from 'node:path'
import { Failure } from '../errors.ts'
import { pathFrom } from '../system/path-from.ts'
import { readProblem, readRegular } from '../system/regular-file.ts'

/** The beginning of an export, decrypted and unpacked. */
export type Head = {
  /** Its name in messages. */
  readonly name: string
  readonly bytes: Buffer
  /** Whether this is all of it. */
  readonly isWhole: boolean
  /** Whether the export ends with a line end; null where that is not known. */
  readonly hasFinalLineEnd: boolean | null
}

/** Where later exports will be, if a person named a single file without a date in its name. Paths are as the configuration writes them. */
type LaterExportsHint = {
  readonly path: string
  readonly pattern: string
  /** Whether no other file matches the pattern by now. */
  readonly isAlone: boolean
}

/** The beginning of an export, and the settings of the source that it was found with. */
export type ExportPreview = {
  readonly head: Head
  readonly source: Readonly<Record<string, unknown>>
  /** Set for a single file whose name says nothing of later ones; null for any other source. */
  readonly laterExports: LaterExportsHint | null
}

/** A source as a person names it. */
export type NamedSource = {
  /** A file, a folder, a pattern, or an address such as sftp://…. */
  readonly location: string
  /** The file of the secret that the source asks for: a password, a private key or a token. */
  readonly secretFile?: string
  /** The fingerprint of the server's host key, where the source has one. */
  readonly hostKey?: string
}

export type DiscoveryOptions = {
  readonly workingDirectory: string
  /** The folder of the configuration that is to be written: its paths are relative to it. */
  readonly configFolder: string
  readonly signal: AbortSignal
}

/** How an export of a kind is found from what a person says. */
export type Discovery = {
  /** The schemes of its addresses, such as `https:`, the recommended one first. Empty: paths of this machine. */
  readonly schemes: readonly string[]
  /** Reads the beginning of the newest export, and nothing else of it. */
  readonly preview: (named: NamedSource, options: DiscoveryOptions) => Promise<ExportPreview>
}

/** The most bytes of an export that are looked at, or fetched from a server for that. */
export const headBytes = 32 * 1024 * 1024

/** A reference to the file of a secret, as the configuration writes it. */
export function secretFileReference(file: string, { workingDirectory, configFolder }: DiscoveryOptions): string {
  return `\${file:${pathFrom(configFolder, resolve(workingDirectory, file))}}`
}

/** The text in the file of a secret; refuses a file that cannot be read. */
export async function readSecretFile(file: string, { workingDirectory }: DiscoveryOptions): Promise<string> {
  try {
    return (await readRegular(resolve(workingDirectory, file))).trim()
  } catch (error) {
    const problem = readProblem(error, 'name the file of the secret with --secret-file')
    throw new Failure('usage', `cannot read ${file}${problem}`, { cause: error })
  }
}

type Parsed<T> = {
  readonly data?: T
  readonly error?: { readonly issues: readonly { readonly message: string }[] } | undefined
}

/** The settings that were made from what a person said; refuses those that the schema refuses. */
export function requireSettings<T>({ data, error }: Parsed<T>): T {
  if (data !== undefined) return data
  throw new Failure('usage', `the source cannot be used: ${error?.issues.map(({ message }) => message).join('; ')}`)
}
