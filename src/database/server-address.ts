import type { PoolConfig } from 'pg'
import { Failure } from '../errors.ts'
import { readProblem, readRegularSync } from '../system/regular-file.ts'

/** One server of an address. */
export type ServerHost = {
  /** Host and port, for messages. */
  readonly name: string
  /** The address with only this host and without TLS parameters. */
  readonly url: string
}

/** A parsed address of PostgreSQL. */
export type ServerAddress = {
  /** At least one. With several, the one that takes writes is used. */
  readonly hosts: readonly ServerHost[]
  /** Hosts, ports and database, for messages. It never holds user or password. */
  readonly location: string
  /** The startup options in the address. */
  readonly options: string
  /** The names of the parameters that the address sets by itself. */
  readonly sets: ReadonlySet<string>
  /** Undefined if the address says nothing about TLS. */
  readonly ssl: PoolConfig['ssl'] | undefined
}

const example = 'postgres://user:password@host:5432/name'
const defaultPort = '5432'
/** The parameters of TLS, which are read here. node-postgres gives some of them another meaning than PostgreSQL's own programs do. */
const tlsParameters = ['sslmode', 'sslrootcert', 'sslcert', 'sslkey', 'ssl'] as const
const writingSessions = ['any', 'read-write', 'primary']

/**
 * Reads `postgres://user:password@host:5432/name`; hosts may be several, with commas between them. A refusal does not repeat the address,
 * because it may hold a password.
 */
export function parseServerAddress(at: string): ServerAddress {
  const url = withoutHosts(at)
  const hosts = hostsOf(at, url)
  refuseReadingSessions(url.searchParams.get('target_session_attrs'))
  const options = url.searchParams.get('options') ?? ''
  const sets = new Set([...namesIn(options), ...url.searchParams.keys()])
  const ssl = tlsOf(url.searchParams)
  for (const name of ['options', 'host', 'port', 'target_session_attrs', ...tlsParameters])
    url.searchParams.delete(name)
  return {
    hosts: hosts.map(({ host, port }) => ({ name: `${host}:${port}`, url: withHost(url, { host, port }) })),
    location: `PostgreSQL at ${hosts.map(({ host, port }) => `${host}:${port}`).join(',')}${url.pathname}`,
    options,
    sets,
    ssl,
  }
}

type Host = { readonly host: string; readonly port: string }

const shape = /^(?<before>[a-z]+:\/\/(?:[^/?#]*@)?)(?<hosts>[^/?#@]*)(?<after>.*)$/s

/** The address as a URL, with `localhost` in place of the hosts. */
function withoutHosts(at: string): URL {
  const { before = '', after = '' } = shape.exec(at)?.groups ?? {}
  const url = before === '' ? null : URL.parse(`${before}localhost${after}`)
  if (url === null || decodePart(url.pathname) === null) throw unreadableFailure()
  return url
}

/** The hosts before the name of the database, or those of the parameter `host`, which can name the folder of a socket. */
function hostsOf(at: string, { searchParams }: URL): Host[] {
  const { hosts = '' } = shape.exec(at)?.groups ?? {}
  const fallback = (searchParams.get('port') ?? '').split(',')
  const named = hosts === '' ? (searchParams.get('host') ?? 'localhost') : hosts
  return named.split(',').map((text, index) => {
    const port = fallback[index] || fallback[0] || defaultPort
    if (hosts === '') return { host: text, port }
    const parsed = URL.parse(`postgres://${text}`)
    const host = parsed && decodePart(parsed.hostname)
    if (!parsed || !host) throw unreadableFailure()
    return { host, port: parsed.port || port }
  })
}

/** Null for incorrect percent-encoding. */
function decodePart(text: string): string | null {
  try {
    return decodeURIComponent(text)
  } catch {
    return null
  }
}

function withHost(url: URL, { host, port }: Host): string {
  const own = new URL(url)
  if (host.startsWith('/')) own.searchParams.set('host', host)
  else own.hostname = host
  // A URL silently ignores an invalid host.
  if (own.hostname === 'localhost' && host !== 'localhost' && !host.startsWith('/')) throw unreadableFailure()
  own.port = port
  return own.href
}

/** The parameters that are set in `-c name=value` and `--name=value`. */
function namesIn(options: string): string[] {
  return [...options.matchAll(/(?:-c\s*|--)([\w.-]+)\s*=/g)].map(([, name = '']) =>
    name.replaceAll('-', '_').toLowerCase(),
  )
}

function refuseReadingSessions(sessionAttributes: string | null): void {
  if (sessionAttributes === null || writingSessions.includes(sessionAttributes)) return
  throw new Failure(
    'config_invalid',
    `the database address asks for target_session_attrs=${sessionAttributes}; Rollcall writes, so leave it out, or write read-write`,
  )
}

/**
 * The TLS settings of `sslmode`. `require` and `verify-full` check the certificate and the host name, `verify-ca` only the certificate,
 * and `no-verify` nothing. Modes that may fall back to plain text are refused: they do not protect against an active attacker.
 */
function tlsOf(parameters: URLSearchParams): ServerAddress['ssl'] {
  const mode = parameters.get('sslmode') ?? modeOf(parameters)
  if (mode === null) return undefined
  switch (mode) {
    case 'disable':
      return false
    case 'no-verify':
      return { ...filesOf(parameters), rejectUnauthorized: false }
    case 'verify-ca':
      return { ...filesOf(parameters), checkServerIdentity: () => undefined }
    case 'require':
    case 'verify-full':
      return filesOf(parameters)
    default:
      throw new Failure(
        'config_invalid',
        `the database address asks for sslmode=${mode}; write verify-full (TLS with a checked certificate), verify-ca, no-verify or disable`,
      )
  }
}

function modeOf(parameters: URLSearchParams): string | null {
  const ssl = parameters.get('ssl')
  if (ssl === '0' || ssl === 'false') return 'disable'
  if (ssl === 'no-verify') return ssl
  return tlsParameters.some((name) => parameters.has(name)) ? 'verify-full' : null
}

function filesOf(parameters: URLSearchParams): { ca?: string; cert?: string; key?: string } {
  const authority = parameters.get('sslrootcert')
  return {
    // PostgreSQL's own word for the authorities that the system trusts.
    ...(authority !== null && authority !== 'system' && { ca: contentOf('sslrootcert', authority) }),
    ...(parameters.has('sslcert') && { cert: contentOf('sslcert', parameters.get('sslcert') ?? '') }),
    ...(parameters.has('sslkey') && { key: contentOf('sslkey', parameters.get('sslkey') ?? '') }),
  }
}

function contentOf(name: string, path: string): string {
  try {
    return readRegularSync(path)
  } catch (error) {
    throw new Failure(
      'config_invalid',
      `${path}, the ${name} of the database address, cannot be read${readProblem(error)}`,
      { cause: error },
    )
  }
}

function unreadableFailure(): Failure {
  return new Failure(
    'config_invalid',
    `the database address cannot be read; write ${example} and percent-encode special characters in the password`,
  )
}
