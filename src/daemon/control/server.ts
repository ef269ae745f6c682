import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { RateLimiterMemory } from 'rate-limiter-flexible'
import { control, controlPrefix } from '../../contract/control/control.ts'
import { errorCode, Failure } from '../../errors.ts'
import { openapi } from '../../http/openapi.ts'
import { compressed, createApp } from '../../http/server/app.ts'
import { mount } from '../../http/server/mount.ts'
import { Refusal, refuse } from '../../http/server/refusal.ts'
import { countRefusals } from '../../http/server/refusal-counts.ts'
import type { ControlContext } from './control.ts'
import { listenLocally } from './local-socket.ts'
import { type Checks, serveProbes } from './probes.ts'
import { refusingHandlers } from './refusals.ts'

export type ServerOptions = {
  readonly host: string
  readonly port: number
  /** What the control API asks for over TCP; null: it is not served over TCP. */
  readonly token: string | null
  readonly context: ControlContext
  /** Serves what is no part of the control API. */
  readonly alsoServe: (app: FastifyInstance) => Promise<void>
  /** What must answer for the daemon to be of use, by name. */
  readonly checks: Checks
}

const guessesPerMinute = 20

export type Server = { readonly url: string; [Symbol.asyncDispose](): Promise<void> }

/** Serves the probes that watch over the daemon and, to those who know the token, the control API. */
export async function startServer(options: ServerOptions): Promise<Server> {
  const app = await createApp()
  serveProbes(app, options.checks)
  await options.alsoServe(app)
  serveControl(app, options.context, admitByToken(app, options))
  return { url: await listen(app, options), [Symbol.asyncDispose]: () => app.close() }
}

/** Lets those in who know the token. An address that has guessed too often is not listened to until its minute is over. */
function admitByToken(
  app: FastifyInstance,
  { token, context }: ServerOptions,
): (request: FastifyRequest) => Promise<void> {
  const expected = token === null ? null : digest(token)
  const guesses = new RateLimiterMemory({ points: guessesPerMinute, duration: 60 })
  const refusals = countRefusals(({ what: _what, ...refused }) => context.sync.events.controlRefused(refused))
  app.addHook('onClose', async () => refusals[Symbol.dispose]())

  return async (request) => {
    if (expected === null) {
      const help = 'use the socket in the data folder, or configure server.token'
      throw refuse('Unauthorized', `the control API is not served over TCP: ${help}`)
    }
    const made = await guesses.get(request.ip)
    if (made !== null && made.consumedPoints >= guessesPerMinute) {
      const headers = { 'retry-after': `${Math.max(1, Math.ceil(made.msBeforeNext / 1000))}` }
      throw new Refusal(429, 'too many wrong tokens came from this address; try again later', { headers })
    }
    if (timingSafeEqual(digest(bearerOf(request)), expected)) return
    await guesses.penalty(request.ip)
    refusals.count({ what: 'control', reason: 'wrong or missing token', sender: request.ip })
    throw refuse('Unauthorized', 'the control API asks for its token as a bearer token')
  }
}

/** Serves the control API to the account of this process, which alone can reach the socket. */
export async function startLocalServer({
  dataDir,
  context,
}: {
  readonly dataDir: string
  readonly context: ControlContext
}): Promise<{ readonly socket: string; [Symbol.asyncDispose](): Promise<void> }> {
  const app = await createApp()
  serveControl(app, context, async () => {})
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
  admit: (request: FastifyRequest) => Promise<void>,
): void {
  const document = openapi([{ tag: 'Control', operations: control }], {
    title: 'Rollcall control API',
    version: context.about.version,
  })
  app.get('/api/openapi.json', { compress: compressed }, async () => document)
  mount(app, control, refusingHandlers, {
    prefix: controlPrefix,
    authorize: async (request) => {
      await admit(request)
      return context
    },
  })
}

async function listen(app: FastifyInstance, { host, port }: ServerOptions): Promise<string> {
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

function bearerOf(request: FastifyRequest): string {
  const [, token = ''] = /^Bearer +(\S+)$/i.exec(request.headers.authorization ?? '') ?? []
  return token
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest()
}
