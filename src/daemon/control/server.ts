import type { FastifyInstance, FastifyRequest } from 'fastify'
import { scimRefusal } from '../../connectors/scim/errors.ts'
import type { Caller } from '../../contract/control/access.ts'
import { control, controlPrefix } from '../../contract/control/control.ts'
import { databaseFailure } from '../../database/failures.ts'
import { errorCode, Failure } from '../../errors.ts'
import { createApp } from '../../http/server/app.ts'
import { guardHosts, type HostRules } from '../../http/server/hosts.ts'
import { leftSignal } from '../../http/server/left-signal.ts'
import { type MountOptions, mount } from '../../http/server/mount.ts'
import { limitRequests } from '../../http/server/request-limit.ts'
import { serveLive } from '../live/serve.ts'
import type { ControlContext } from './control-context.ts'
import { serveDeprecatedPaths } from './deprecated.ts'
import { serveDocument } from './document.ts'
import { listenLocally } from './local-socket.ts'
import { type Checks, serveProbes } from './probes.ts'
import { refusalOf, refusingHandlers } from './refusals.ts'

type ServerOptions = {
  readonly host: string
  readonly port: number
  /** Proxies whose `X-Forwarded-For` names the sender. */
  readonly trustedProxies: readonly string[]
  /** The names under which the server is reached. */
  readonly hosts: HostRules
  /** Identifies the caller over TCP, and refuses everybody else. */
  readonly admit: (request: FastifyRequest) => Promise<Caller>
  /** The same for the description of the API and for live changes, which a signed-in browser may read too. */
  readonly admitReader: (request: FastifyRequest) => Promise<Caller>
  readonly context: ControlContext
  /** Adds routes besides the control API. */
  readonly alsoServe: (app: FastifyInstance) => Promise<void>
  /** The checks that must pass for the daemon to be ready, by name. */
  readonly checks: Checks
}

/** The request limit of one address: more than people and their tools need, so that it stops only a runaway client. */
const requestsPerMinute = 6000
/** How long an uploaded export may take to arrive. */
const uploadTimeoutMs = 15 * 60_000

/** A running server and its address. */
export type Server = { readonly url: string; [Symbol.asyncDispose](): Promise<void> }

/** Serves the probes that watch over the daemon and, to those who are admitted, the control API. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const app = await createApp({
    trustedProxies: options.trustedProxies,
    slowRequestTimeoutMs: uploadTimeoutMs,
    answerOf: scimRefusal,
  })
  guardHosts(app, options.hosts)
  limitRequests(app, { prefix: '/api', requestsPerMinute })
  serveProbes(app, options.checks)
  await options.alsoServe(app)
  const { context, admit, admitReader } = options
  serveControl(app, context, {
    admit: explainDatabaseFailures(admit),
    admitReader: explainDatabaseFailures(admitReader),
  })
  return { url: await listen(app, options), [Symbol.asyncDispose]: () => app.close() }
}

/** Serves the control API to the account of this process, which alone can reach the socket. */
export async function startLocalServer({
  dataDir,
  context,
}: {
  readonly dataDir: string
  readonly context: ControlContext
}): Promise<{ readonly socket: string; [Symbol.asyncDispose](): Promise<void> }> {
  const app = await createApp({ slowRequestTimeoutMs: uploadTimeoutMs })
  const admit = async () => context.caller
  serveControl(app, context, { admit, admitReader: admit })
  try {
    const socket = await listenLocally(dataDir, (path) => app.listen({ path }))
    return { socket, [Symbol.asyncDispose]: () => app.close() }
  } catch (error) {
    await app.close()
    throw error
  }
}

function serveControl(
  app: FastifyInstance,
  context: ControlContext,
  { admit, admitReader }: Pick<ServerOptions, 'admit' | 'admitReader'>,
): void {
  serveDocument(app, { version: context.about.version, admit: admitReader })
  if (context.live)
    serveLive(app, {
      prefix: controlPrefix,
      live: context.live,
      connections: context.sync.connections,
      admit: admitReader,
    })
  const options: MountOptions<ControlContext> = {
    prefix: controlPrefix,
    authorize: async (request) => {
      return { ...context, caller: await admit(request), requestSignal: () => leftSignal(request) }
    },
  }
  mount(app, control, refusingHandlers, options)
  serveDeprecatedPaths(app, options)
}

/** Admission reads who may call from the store: explains an unreachable store to the operator. */
export function explainDatabaseFailures(admit: ServerOptions['admit']): ServerOptions['admit'] {
  return async (request) => {
    try {
      return await admit(request)
    } catch (error) {
      const failure = databaseFailure(error)
      throw failure === null ? error : refusalOf(failure)
    }
  }
}

/** Starts to listen and returns the address; throws `config_invalid` if the port cannot be used. */
export async function listen(
  app: FastifyInstance,
  { host, port }: Pick<ServerOptions, 'host' | 'port'>,
): Promise<string> {
  try {
    return reachable(await app.listen({ host, port }))
  } catch (error) {
    await app.close()
    const code = errorCode(error)
    if (code !== undefined) {
      const help = 'choose another server.port or server.host'
      throw new Failure('config_invalid', `cannot listen on ${host}:${port} (${code}): ${help}`, { cause: error })
    }
    throw error
  }
}

/** The address as it is reached on this machine. */
function reachable(url: string): string {
  return url.replace('//0.0.0.0:', '//127.0.0.1:').replace('//[::]:', '//[::1]:')
}
