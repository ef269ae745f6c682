import { secretReference } from '../../connectors/file/source-settings.ts'
import { channelSecrets } from './alert-settings.ts'
import type { ConfigDocument, Path, Problem } from './document.ts'
import { problemAt, problemLine } from './problems.ts'
import { Secret } from './secret.ts'
import { connectionSecrets, possibleSecrets } from './source-settings.ts'
import { objectAt, pathsOf, textAt } from './values.ts'

/** Why secrets cannot be read, by the paths of their settings. */
type Faults = ReadonlyMap<string, string>

/** A document, and the secrets in it that cannot be read yet. */
export type SecretContext = { readonly document: ConfigDocument; readonly faults: Faults }

/** The path of the platform's API key. */
export const apiKeyPath: Path = ['platform', 'apiKey']
/** The path of the OpenID Connect client secret. */
export const oidcSecretPath: Path = ['server', 'oidc', 'clientSecret']
/** The path of the headers that a collector of traces requires. */
export const headersPath: Path = ['traces', 'headers']

const secretPaths: readonly Path[] = [apiKeyPath, ['server', 'token'], oidcSecretPath, ['audit', 'signingKey']]
/** Addresses that may hold a password. */
const addressPaths: readonly Path[] = [['database'], ['queue']]
const allConnectionSecrets: readonly string[] = [...connectionSecrets, ...possibleSecrets]

/** Every path of a configuration that may hold a secret, joined by dots. */
export function secretNames(document: ConfigDocument): ReadonlySet<string> {
  const paths = [...secretPathsIn(document.values(), allConnectionSecrets), ...addressPaths]
  return new Set(paths.map((path) => path.join('.')))
}

type DeferOptions = {
  /** The file as messages name it. */
  readonly file: string
  /** `when needed`: all secrets may be missing until they are used. */
  readonly secrets: 'now' | 'when needed'
}

/**
 * Replaces secrets that cannot be read and may be missing for now, so that the rest of the configuration is checked. Without a connection
 * nothing is sent, so the API key may come with the first one. Returns why they cannot be read.
 */
export function deferSecrets(document: ConfigDocument, { file, secrets }: DeferOptions): Faults {
  const values = valuesOf(document)
  if (values === null) return new Map()
  if (secrets === 'when needed') return deferAt(document, file, secretPathsIn(values.plain, allConnectionSecrets))
  const isWaiting = Object.keys(objectAt(values.plain, ['connections'])).length === 0
  return deferAt(document, file, isWaiting ? [apiKeyPath] : [])
}

/** The values; null if an alias cannot be followed, which is one of the document's problems. */
function valuesOf(document: ConfigDocument): { readonly plain: unknown } | null {
  try {
    return { plain: document.values() }
  } catch (error) {
    if (error instanceof ReferenceError) return null
    throw error
  }
}

/** A placeholder that is valid as a token and as a user's name, which holds no colon. */
const namePlaceholder = 'not-read-yet.not-read-yet.not-read-yet'

function deferAt(document: ConfigDocument, file: string, paths: readonly Path[]): Faults {
  const refuseBlank = (path: Path) => (text: string) =>
    path === apiKeyPath && text === ''
      ? `${path.join('.')}: is empty: check the variable or the file that it comes from`
      : null
  return new Map(
    paths.flatMap((path) => {
      const placeholder = path[0] === 'connections' ? namePlaceholder : undefined
      const problem = document.defer(path, refuseBlank(path), placeholder)
      return problem === null ? [] : [[path.join('.'), problemLine(file, problem)]]
    }),
  )
}

/** The paths where the secrets of a configuration are, or would be. `below`: the settings of connections that count as secrets. */
function secretPathsIn(values: unknown, below: readonly string[]): Path[] {
  const ofConnections = Object.keys(objectAt(values, ['connections'])).flatMap((name) =>
    below.flatMap((path) => pathsOf(values, ['connections', name, ...path.split('.')])),
  )
  const ofHeaders = Object.keys(objectAt(values, headersPath)).map((name) => [...headersPath, name])
  return [...secretPaths, ...ofConnections, ...channelSecretPaths(values), ...ofHeaders]
}

function channelSecretPaths(values: unknown): Path[] {
  const channels: Path = ['alerts', 'channels']
  return Object.keys(objectAt(values, channels)).flatMap((name) => {
    const type = textAt(values, [...channels, name, 'type'])
    if (!Object.hasOwn(channelSecrets, type)) return []
    return channelSecrets[type as keyof typeof channelSecrets].map((setting) => [...channels, name, setting])
  })
}

/** What is wrong with a secret that is written into the configuration itself. */
export const plainSecret = `a secret stands in the configuration: put it into the environment or a file and write ${secretReference}`

/** A problem for each secret, or password in an address, that is written into the configuration itself. */
export function plainSecrets(document: ConfigDocument): Problem[] {
  const values = document.values()
  const secrets = secretPathsIn(values, connectionSecrets).filter((path) => textAt(values, path) !== '')
  const addresses = addressPaths.filter((path) => hasPassword(textAt(values, path)))
  return (
    [...secrets, ...addresses]
      // A constant that a recipe states is no secret.
      .filter((path) => document.writtenValueAt(path) !== null && !document.referencesAt(path))
      .map((path) => problemAt(document, path, plainSecret))
  )
}

function hasPassword(address: string): boolean {
  return Boolean(URL.parse(address)?.password)
}

/** The secret at a path. */
export function secretAt({ document, faults }: SecretContext, path: Path): Secret {
  const references = document.referencesAt(path) ?? [{ text: textAt(document.values(), path) }]
  return new Secret(references, faults.get(path.join('.')) ?? null)
}

/** The secret at a path; null if the setting is left out or empty. */
export function optionalSecretAt(context: SecretContext, path: Path): Secret | null {
  return textAt(context.document.values(), path) === '' ? null : secretAt(context, path)
}

/**
 * The secrets of a source or webhook, by their paths below it. A setting that may be a secret is one if it has a reference: other texts
 * may name columns, as in the body of a request for a record. `at`: `connections`, the name, `source` or `webhook`.
 */
export function secretsBelow(context: SecretContext, at: Path): ReadonlyMap<string, Secret> {
  const [, , part] = at
  const { document } = context
  const values = document.values()
  const below = (paths: readonly string[]) =>
    paths.flatMap((path) => {
      const [first, ...rest] = path.split('.')
      if (first !== part) return []
      return pathsOf(values, [...at, ...rest]).filter((setting) => textAt(values, setting) !== '')
    })
  const references = below(possibleSecrets).filter((path) => document.referencesAt(path) !== undefined)
  const locations = [...below(connectionSecrets), ...references]
  return new Map(locations.map((path) => [path.slice(at.length).join('.'), secretAt(context, path)]))
}
