import type { FastifyRequest } from 'fastify'
import type { Access } from '../../console/site/access.ts'
import type { Caller } from '../../contract/control/access.ts'
import type { HostRules } from '../../http/server/hosts.ts'
import { endSessionsOf } from '../../store/access/sessions.ts'
import { hasToken } from '../../store/access/tokens.ts'
import type { Db } from '../../store/schema.ts'
import type { Events } from '../../telemetry/events.ts'
import type { Config } from '../config/config.ts'
import { createAttempts } from './attempts.ts'
import { openProvider } from './provider.ts'
import { admitByToken, configuredPrincipal, createTokenCheck } from './tokens.ts'
import { createAccess } from './visits.ts'

/** Everything that says who may reach the daemon over TCP. */
export type OpenedAccess = Disposable & {
  readonly hosts: HostRules
  /** Who comes with a token. */
  readonly admit: (request: FastifyRequest) => Promise<Caller>
  /** Who reads what a browser may ask for too: with a token, or by a sign-in to our pages. */
  readonly admitReader: (request: FastifyRequest) => Promise<Caller>
  /** How people get in and out of our pages. */
  readonly access: Access
  /** Tells the log who is let in at this address. */
  announce(address: string): Promise<void>
}

export async function openAccess(
  server: Config['server'],
  { db, now, events }: { readonly db: Db; readonly now: () => Date; readonly events: Events },
): Promise<OpenedAccess> {
  const { publicUrl, oidc, sessions: limits } = server
  const configured = (await server.token?.read()) ?? null
  // Nothing says whether the token of the configuration is still the one that these were begun with.
  await endSessionsOf(db, configuredPrincipal)
  const attempts = createAttempts(events)
  const checkToken = createTokenCheck({ db, now, configured })
  const isSecure = publicUrl?.protocol === 'https:'
  const access = createAccess(
    { db, now, limits, isSecure, hasConfigured: configured !== null, checkToken, attempts },
    (begin, cookie, names) =>
      oidc && publicUrl && openProvider({ settings: oidc, publicUrl, attempts, now }, begin, cookie, names),
  )
  const admit = admitByToken(checkToken, attempts)
  return {
    hosts: hostsOf(server),
    admit,
    async admitReader(request) {
      // A request with a token is judged by it alone, and nothing is changed by the cookie of a browser: a session does not go on by it.
      const visit =
        request.method === 'GET' && request.headers.authorization === undefined
          ? await access.find(request, { isUse: false })
          : null
      return visit?.caller ?? (await admit(request))
    },
    access,
    async announce(address) {
      const ways = [
        ...(oidc === null ? [] : ['OpenID Connect']),
        ...(configured === null ? [] : ['server.token']),
        ...((await hasToken(db, now())) ? ['tokens'] : []),
      ]
      events.accessOpened({ address, signIn: ways.length === 0 ? 'none yet' : ways.join(', ') })
      if (!isBeyond(server.host)) return
      if (ways.length === 0) events.accessImpossible({ address })
      if (!isSecure) events.accessReadable({ address })
    },
    [Symbol.dispose]: () => attempts[Symbol.dispose](),
  }
}

/** Who may reach a process that serves no pages: callers with a token. */
export async function openTokens(
  server: Config['server'],
  { db, now, events }: { readonly db: Db; readonly now: () => Date; readonly events: Events },
): Promise<Pick<OpenedAccess, 'hosts' | 'admit'> & Disposable> {
  const attempts = createAttempts(events)
  const checkToken = createTokenCheck({ db, now, configured: (await server.token?.read()) ?? null })
  return {
    hosts: hostsOf(server),
    admit: admitByToken(checkToken, attempts),
    [Symbol.dispose]: () => attempts[Symbol.dispose](),
  }
}

/** The names of the server; an address that stands for all of them is none. */
function hostsOf({ host, hosts, publicUrl }: Config['server']): HostRules {
  const isEvery = host === '0.0.0.0' || host === '::'
  return { names: isEvery ? hosts : [host.includes(':') ? `[${host}]` : host, ...hosts], publicUrl }
}

/** Whether other machines can reach what listens there. */
function isBeyond(host: string): boolean {
  return host !== 'localhost' && host !== '::1' && !host.startsWith('127.')
}
