import { once } from 'node:events'
import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { Agent } from 'undici'
import { customConnections } from '../../../src/contract/platform/custom-connections.ts'
import { customDataSessions } from '../../../src/contract/platform/custom-data-sessions.ts'
import { hrisUserIdentities } from '../../../src/contract/platform/hris-user-identities.ts'

const operations = { ...customConnections, ...customDataSessions, ...hrisUserIdentities }
export type OperationName = keyof typeof operations

const noticedWithinMs = 250

/** A request as it arrives. */
export type ReceivedRequest = {
  /** Counted from 1 over everything that has come. */
  readonly nth: number
  readonly method: string
  /** Below the platform's prefix, with the query. */
  readonly path: string
  /** What the contract calls it. */
  readonly operation: OperationName | null
  readonly body: unknown
  /** HR's keys of the people whom the body or the path names. */
  readonly identityIds: readonly string[]
}

export type PlatformAnswer = {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[]>>
  readonly body: Buffer
}

/** One request on its way. `forward` asks the platform, once however often it is called. */
export type Exchange = {
  readonly request: ReceivedRequest
  readonly response: ServerResponse
  /** Aborts when the proxy closes. */
  readonly signal: AbortSignal
  forward(): Promise<PlatformAnswer>
  /** Writes the head of an answer; the body is up to whoever calls. */
  begin(status: number, headers: PlatformAnswer['headers']): void
  reply(answer: PlatformAnswer): void
}

/** What happens to a request; `test/helpers/faults/faults.ts` has them. */
export type Fault = { readonly name: string; readonly play: (exchange: Exchange) => Promise<void> | void }
export type Decide = (request: ReceivedRequest) => Fault

/** One line of the log. */
export type Passed = Omit<ReceivedRequest, 'body'> & {
  readonly fault: string
  /** The status with which the platform answered the proxy; null while or where it was not asked. */
  readonly applied: number | null
  /** The status sent to the client; null if none was sent. */
  readonly status: number | null
}

/** A request that is kept waiting. Its fault, usually none, takes its course after `release`. */
export type Held = { readonly request: ReceivedRequest; release(): void }

/** How connections are received: as they should be, not at all, without a word, or with a reset. */
export type Line = 'up' | 'refused' | 'silent' | 'reset'

export type FaultProxy = AsyncDisposable & {
  /** For the client, in place of the platform's. */
  readonly baseUrl: string
  /** Everything that has come since the start or since `forget`, in the order of arrival. */
  readonly requests: readonly Passed[]
  forget(): void
  /** From now on `Decide` chooses the fault of each request; a list gives the faults of the next requests. */
  fault(faults: Decide | readonly Fault[]): void
  /** Ends all faults. Requests that hang are cut off. */
  heal(): Promise<void>
  /** Changes how connections are received and cuts those that stand. */
  line(line: Line): Promise<void>
  /**
   * Resolves when the next request that `matches` waits: `applied` (the default) by the platform while the answer is kept
   * back, or `arrived` without the platform knowing of it.
   */
  hold(matches: (request: ReceivedRequest) => boolean, at?: 'applied' | 'arrived'): Promise<Held>
}

/** Nothing goes wrong. */
export const pass: Fault = { name: 'pass', play: async ({ forward, reply }) => reply(await forward()) }

/** A real server between a client and the platform that applies faults to requests. */
export async function startFaultProxy({ target, decide = () => pass }: { target: string; decide?: Decide }) {
  const base = new URL(target)
  const platform = new Agent()
  const closing = new AbortController()
  const sockets = new Set<Socket>()
  const holding: {
    matches: (request: ReceivedRequest) => boolean
    at: 'applied' | 'arrived'
    hold: (request: ReceivedRequest) => Promise<void>
  }[] = []
  let log: Writable<Passed>[] = []
  let arrived = 0
  let fate = decide
  let line: Line = 'up'

  const http = createHttpServer({ keepAliveTimeout: 0, requestTimeout: 0 }, (request, response) => {
    serve(request, response).catch(() => response.destroy())
  })
  const front = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => socket.destroy())
    if (line === 'silent') socket.resume()
    if (line === 'reset') socket.resetAndDestroy()
    if (line === 'up') http.emit('connection', socket)
  })
  await listen(front, 0)
  const { port } = front.address() as AddressInfo

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    response.on('error', () => response.destroy())
    const sent = await buffer(request)
    const received = look(request, sent, base, ++arrived)
    const fault = fate(received)
    const { body: _body, ...shown } = received
    const passed: Writable<Passed> = { ...shown, fault: fault.name, applied: null, status: null }
    log.push(passed)
    let answering: Promise<PlatformAnswer> | null = null
    const forward = () => {
      answering ??= ask(request, sent).then((answer) => {
        passed.applied = answer.status
        return answer
      })
      return answering
    }
    const waits = holding.find(({ matches }) => matches(received))
    if (waits) {
      holding.splice(holding.indexOf(waits), 1)
      if (waits.at === 'applied') await forward()
      await waits.hold(received)
    }
    const begin: Exchange['begin'] = (status, headers) => {
      passed.status = status
      response.writeHead(status, headers)
    }
    const reply: Exchange['reply'] = ({ status, headers, body }) => {
      if (response.destroyed) return
      begin(status, { ...headers, ...(status !== 204 && { 'content-length': String(body.length) }) })
      response.end(body)
    }
    await fault.play({ request: received, response, signal: closing.signal, forward, begin, reply })
  }

  async function ask(request: IncomingMessage, body: Buffer): Promise<PlatformAnswer> {
    const { host: _host, connection: _connection, 'transfer-encoding': _framing, ...headers } = request.headers
    const answer = await platform.request({
      origin: base.origin,
      path: request.url ?? '/',
      method: request.method as 'GET',
      headers,
      body: body.length > 0 ? body : null,
    })
    const { connection: _c, 'keep-alive': _k, 'transfer-encoding': _t, 'content-length': _l, ...kept } = answer.headers
    return {
      status: answer.statusCode,
      headers: kept as PlatformAnswer['headers'],
      body: Buffer.from(await answer.body.arrayBuffer()),
    }
  }

  async function changeLine(next: Line): Promise<void> {
    const listens = line !== 'refused'
    line = next
    if (next === 'refused' && listens) front.close()
    await Promise.all([...sockets].map(cut))
    if (next !== 'refused' && !listens) await listen(front, port)
  }

  const proxy: FaultProxy = {
    baseUrl: `http://127.0.0.1:${port}${base.pathname}`,
    get requests() {
      return log
    },
    forget() {
      log = []
    },
    fault(faults) {
      const list = typeof faults === 'function' ? null : faults.values()
      fate = typeof faults === 'function' ? faults : () => list?.next().value ?? pass
    },
    async heal() {
      fate = () => pass
      await changeLine('up')
    },
    line: changeLine,
    hold(matches, at = 'applied') {
      const { promise, resolve } = Promise.withResolvers<Held>()
      const { promise: released, resolve: release } = Promise.withResolvers<void>()
      closing.signal.addEventListener('abort', () => release(), { once: true })
      holding.push({
        matches,
        at,
        hold: async (request) => {
          resolve({ request, release })
          await released
          closing.signal.throwIfAborted()
        },
      })
      return promise
    },
    async [Symbol.asyncDispose]() {
      closing.abort()
      await changeLine('refused')
      await platform.destroy()
    },
  }
  return proxy
}

type Writable<T> = { -readonly [K in keyof T]: T[K] }

// Ended first and destroyed once the client has noticed, so that it sends nothing more into a connection that it believes to stand.
async function cut(socket: Socket): Promise<void> {
  const closed = Promise.withResolvers<void>()
  socket.once('close', () => closed.resolve())
  socket.end()
  if (!socket.closed) await Promise.race([closed.promise, sleep(noticedWithinMs)])
  socket.destroy()
}

async function listen(server: ReturnType<typeof createServer>, port: number): Promise<void> {
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
}

function look(request: IncomingMessage, sent: Buffer, base: URL, nth: number): ReceivedRequest {
  const method = request.method ?? ''
  const path = (request.url ?? '').slice(base.pathname.replace(/\/$/, '').length)
  const [pathname = ''] = path.split('?')
  const key = /\/identity-id(?:%3A|:)([^/]+)$/i.exec(pathname)?.[1]
  const body = parse(sent)
  const items: unknown[] = Array.isArray(body) ? body : []
  const inBody = items.flatMap((item) =>
    typeof item === 'object' && item !== null && 'identityId' in item ? [String(item.identityId)] : [],
  )
  const identityIds = key ? [decodeURIComponent(key)] : inBody
  return { nth, method, path, operation: nameOf(method, pathname), body, identityIds }
}

function nameOf(method: string, pathname: string): OperationName | null {
  const segments = pathname.split('/')
  const names = Object.keys(operations) as OperationName[]
  const named = names.find((name) => {
    const pattern = operations[name].path.split('/')
    const fits = pattern.every((segment, i) => segment.startsWith(':') || segment === segments[i])
    return operations[name].method === method && pattern.length === segments.length && fits
  })
  return named ?? null
}

function parse(sent: Buffer): unknown {
  try {
    return sent.length > 0 ? JSON.parse(sent.toString('utf8')) : undefined
  } catch {
    return undefined
  }
}
