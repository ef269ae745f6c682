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
import { admitByToken, admitSenders, configuredPrincipal, createTokenCheck } from './tokens.ts'
import { createAccess } from './visits.ts'

/** Who may reach the daemon over TCP. */
export type OpenedAccess = Disposable & {
  readonly hosts: HostRules
  /** The caller that a token belongs to; throws a refusal without a valid one. */
  readonly admit: (request: FastifyRequest) => Promise<Caller>
  /** Like `admit`, and also accepts the session of a signed-in browser for reading. */
  readonly admitReader: (request: FastifyRequest) => Promise<Caller>
  /** Why a sender over SCIM is not admitted to a connection; null if it is. */
  readonly admitSender: (request: FastifyRequest, connection: string) => Promise<string | null>
  /** How people sign in to the console and out of it. */
  readonly access: Access
  /** Logs how people sign in at this address, and warns if nobody can or tokens travel unencrypted. */
  announce(address: string): Promise<void>
}

type AccessContext = { readonly db: Db; readonly now: () => Date; readonly events: Events }

/** Opens what a process with the role api needs to admit callers and people. Ends sessions begun with a configured token. */
export async function openAccess(server: Config['server'], { db, now, events }: AccessContext): Promise<OpenedAccess> {
  const { publicUrl, oidc, sessions: limits } = server
  const configured = (await server.token?.read()) ?? null
  // The configured token may have changed since these sessions began.
  await endSessionsOf(db, configuredPrincipal)
  const attempts = createAttempts(events)
  // Of their own: wrong tokens of senders behind one proxy do not lock people out who sign in.
  const senderAttempts = createAttempts(events)
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
      // A token takes precedence over a cookie. Reading by cookie does not extend the session.
      const visit =
        request.method === 'GET' && request.headers.authorization === undefined
          ? await access.find(request, { isUse: false })
          : null
      return visit?.caller ?? (await admit(request))
    },
    admitSender: admitSenders({ db, now }, senderAttempts),
    access,
    async announce(address) {
      const methods = [
        ...(oidc === null ? [] : ['OpenID Connect']),
        ...(configured === null ? [] : ['server.token']),
        ...((await hasToken(db, now())) ? ['tokens'] : []),
      ]
      events.accessOpened({ address, signIn: methods.length === 0 ? 'none yet' : methods.join(', ') })
      if (!isPublic(server.host)) return
      if (methods.length === 0) events.accessImpossible({ address })
      if (!isSecure) events.accessReadable({ address })
    },
    [Symbol.dispose]() {
      attempts[Symbol.dispose]()
      senderAttempts[Symbol.dispose]()
    },
  }
}

/** Opens what a process without the role api needs: it admits callers with a token only. */
export async function openTokens(
  server: Config['server'],
  { db, now, events }: AccessContext,
): Promise<Pick<OpenedAccess, 'hosts' | 'admit'> & Disposable> {
  const attempts = createAttempts(events)
  const checkToken = createTokenCheck({ db, now, configured: (await server.token?.read()) ?? null })
  return {
    hosts: hostsOf(server),
    admit: admitByToken(checkToken, attempts),
    [Symbol.dispose]: () => attempts[Symbol.dispose](),
  }
}

/** The host names that requests may use. An address such as 0.0.0.0 is not a name. */
function hostsOf({ host, hosts, publicUrl }: Config['server']): HostRules {
  const isWildcard = host === '0.0.0.0' || host === '::'
  return { names: isWildcard ? hosts : [host.includes(':') ? `[${host}]` : host, ...hosts], publicUrl }
}

/** Whether other machines can reach this address. */
function isPublic(host: string): boolean {
  return host !== 'localhost' && host !== '::1' && !host.startsWith('127.')
}
