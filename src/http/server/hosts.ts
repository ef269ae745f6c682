import { isIPv4 } from 'node:net'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { refuse } from '../refusal.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Served under any name and to any page: the route reveals nothing, or requires a signature. */
    anyHost?: boolean
  }
}

/** The host names under which a server responds. */
export type HostRules = {
  /** The names under which the server is reached, besides those of this machine. */
  readonly names: readonly string[]
  /** The address that people use, for example behind a proxy. */
  readonly publicUrl: URL | null
}

const readingMethods: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])
const ownSites: ReadonlySet<string> = new Set(['same-origin', 'none'])

/**
 * Serves only requests that name this server as their host, and refuses changes from pages of other sites. This protects against pages in
 * somebody's browser, also with DNS rebinding.
 */
export function guardHosts(app: FastifyInstance, rules: HostRules): void {
  const names = new Set([...rules.names, ...(rules.publicUrl ? [rules.publicUrl.hostname] : [])].map(lower))
  app.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.anyHost) return
    if (!isOwnHost(request, names)) {
      const help = 'name it in server.hosts, or as server.publicUrl'
      throw refuse('Misdirected', `the Host of the request is no name of this daemon: ${help}`)
    }
    if (!readingMethods.has(request.method) && isFromElsewhere(request, rules)) {
      throw refuse('Forbidden', 'the request came from a page of another site')
    }
  })
}

function isOwnHost({ headers: { host }, socket }: FastifyRequest, names: ReadonlySet<string>): boolean {
  const url = URL.parse(`http://${host ?? ''}/`)
  // Other programs may read a name with a path or a password differently.
  if (url === null || host === undefined || url.href !== `http://${url.host}/` || /[/\\?#@]/.test(host)) return false
  const { hostname } = url
  return isLoopback(hostname) || names.has(hostname) || hostname === asHost(socket.localAddress)
}

function isLoopback(hostname: string): boolean {
  return hostname === 'localhost' || hostname === '[::1]' || (isIPv4(hostname) && hostname.startsWith('127.'))
}

/** The address of this end of the connection, as in a Host header. No other site can have it as its name. */
function asHost(address: string | undefined): string | null {
  if (address === undefined) return null
  const [, mapped] = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address) ?? []
  return mapped ?? (address.includes(':') ? `[${lower(address)}]` : address)
}

function isFromElsewhere({ headers }: FastifyRequest, { publicUrl }: HostRules): boolean {
  const site = headers['sec-fetch-site']
  if (site !== undefined && !(typeof site === 'string' && ownSites.has(site))) return true
  const { origin, host = '' } = headers
  if (origin === undefined) return false
  const from = URL.parse(origin)
  return from === null || (from.host !== URL.parse(`http://${host}/`)?.host && from.origin !== publicUrl?.origin)
}

function lower(text: string): string {
  return text.toLowerCase()
}
