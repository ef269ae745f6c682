import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { TLSSocket, type TlsOptions } from 'node:tls'
import type { OpenAuthentication } from './authentication.ts'
import type { ClientKeys } from './client-keys.ts'
import { type Fault, FaultSchedule, peopleAfter, peopleOfPage, totalWith } from './faults.ts'
import { Refusal, type Reply, type SystemRequest } from './protocol.ts'
import { RequestCounter } from './rate-limit.ts'
import { inventRoster, type Person } from './roster.ts'
import type { HrSystem, SystemDetail, SystemList } from './system.ts'
import { TokenStore } from './tokens.ts'

/** How a system behaves in a test. */
export type SystemOptions = {
  readonly people: readonly Person[] | number
  readonly faults?: readonly Fault[]
  /** The time in ms, for tokens, assertions and rate limits. Default: the time of the machine. */
  readonly now?: () => number
  /** Awaited before the answer to each request of a list, like a long computation. */
  readonly beforeFirstByte?: () => Promise<void>
  /** Certificates, for https. */
  readonly tls?: TlsOptions
}

/** A running system. */
export type RunningSystem = AsyncDisposable & {
  readonly origin: string
  readonly tokens: TokenStore
  /** The keys with which a client signs assertions, for systems that ask for them. */
  readonly keys: ClientKeys | undefined
  /** Method and path with query of every request so far, without those of tokens. */
  readonly requests: readonly string[]
  /** Replaces the people, as between two nights. */
  readonly changePeople: (people: readonly Person[]) => void
  /** How many tokens were asked for. */
  readonly tokenRequests: () => number
  /** How often each fault has happened. */
  readonly faultCounts: () => readonly number[]
}

/** Starts a system on this machine. */
export async function startSystem(system: HrSystem, options: SystemOptions): Promise<RunningSystem> {
  const { tls, now = Date.now } = options
  if (system.needsTls && !tls) throw new Error(`${system.name} needs certificates`)
  const server = tls ? createTlsServer({ ...tls, requestCert: true, rejectUnauthorized: false }) : createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  const origin = `${tls ? 'https' : 'http'}://127.0.0.1:${port}`
  const desk = new SystemDesk(system, { ...options, now, origin })
  server.on('request', (request, response) => void handle(desk, request, response))
  return {
    origin,
    tokens: desk.tokens,
    keys: desk.authentication.keys,
    requests: desk.requests,
    changePeople: (people) => desk.changePeople(people),
    tokenRequests: () => desk.tokenRequests,
    faultCounts: () => desk.faults.counts,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function handle(desk: SystemDesk, request: IncomingMessage, response: ServerResponse): Promise<void> {
  response.on('error', () => {})
  const chunks = await Array.fromAsync<Buffer>(request).catch(() => [])
  const { socket } = request
  const reply = await desk.answer({
    method: request.method ?? 'GET',
    // Clients may know the system by another name.
    url: new URL(request.url ?? '/', `${new URL(desk.origin).protocol}//${request.headers.host}`),
    headers: request.headers,
    text: Buffer.concat(chunks).toString(),
    isCertified: socket instanceof TLSSocket && socket.authorized,
  })
  send(reply, response)
}

function send({ status, headers = {}, body }: Reply, response: ServerResponse): void {
  const isText = typeof body === 'string'
  const text = body === undefined ? '' : isText ? body : JSON.stringify(body)
  const type = body === undefined ? {} : { 'content-type': isText ? 'text/plain' : 'application/json; charset=utf-8' }
  const length = status === 204 ? {} : { 'content-length': String(Buffer.byteLength(text)) }
  response.writeHead(status, { ...type, ...length, ...headers })
  response.end(text)
}

type DeskOptions = SystemOptions & { readonly now: () => number; readonly origin: string }

/** Answers the requests of one running system. */
class SystemDesk {
  readonly origin: string
  readonly tokens: TokenStore
  readonly authentication: OpenAuthentication
  readonly faults: FaultSchedule
  readonly requests: string[] = []
  tokenRequests = 0
  readonly #system: HrSystem
  readonly #options: DeskOptions
  readonly #counter: RequestCounter | null
  #people: readonly Person[]
  #byKey: ReadonlyMap<string, Person> | undefined

  constructor(system: HrSystem, options: DeskOptions) {
    const { now, origin, people, faults = [] } = options
    this.#system = system
    this.#options = options
    this.#people = typeof people === 'number' ? inventRoster(people) : people
    this.#counter = system.rateLimit ? new RequestCounter(system.rateLimit, now) : null
    this.origin = origin
    this.tokens = new TokenStore(now)
    this.authentication = system.authentication({ now, tokens: this.tokens, origin })
    this.faults = new FaultSchedule(faults)
  }

  changePeople(people: readonly Person[]): void {
    this.#people = people
    this.#byKey = undefined
  }

  async answer(request: SystemRequest): Promise<Reply> {
    try {
      const { endpoint } = this.authentication
      if (request.url.pathname !== endpoint?.path) return await this.#answerRead(request)
      this.tokenRequests += 1
      return await endpoint.answer(request)
    } catch (error) {
      if (error instanceof Refusal) return error.reply
      throw error
    }
  }

  async #answerRead(request: SystemRequest): Promise<Reply> {
    const { method, url } = request
    this.requests.push(`${method} ${url.pathname}${url.search}`)
    if (url.pathname === '/login') return loginForm
    this.authentication.check(request)
    const headers = this.#counter?.count() ?? {}
    const reply = await this.#route(request)
    return { ...reply, headers: { ...headers, ...reply.headers } }
  }

  async #route(request: SystemRequest): Promise<Reply> {
    const { method, url } = request
    const { lists, details = [] } = this.#system
    const index = lists.findIndex(({ path }) => path === url.pathname)
    const list = lists[index]
    const detail = details.find(({ path }) => path.test(url.pathname))
    const route = list ?? detail
    if (!route) throw new Refusal(404, { error: 'no such resource' })
    if (route.method !== method) throw new Refusal(405, { error: 'method not allowed' })
    if (detail) return this.#answerDetail(request, detail)
    await this.#options.beforeFirstByte?.()
    return this.#answerList(request, list as SystemList, { hasFaults: index === 0 })
  }

  #answerDetail(request: SystemRequest, { path, write }: SystemDetail): Reply {
    const { keyOf } = this.#system
    this.#byKey ??= new Map(this.#people.map((person) => [keyOf(person), person]))
    const byKey = (name: string) => this.#byKey?.get(name)
    const [, key] = path.exec(request.url.pathname) ?? []
    return write(request, { byKey, ofPath: key === undefined ? undefined : byKey(decodeURIComponent(key)) })
  }

  #answerList(request: SystemRequest, list: SystemList, { hasFaults }: { readonly hasFaults: boolean }): Reply {
    list.check?.(request)
    const { includes = () => true } = list
    const listed = () => this.#people.filter((person) => includes(person, request))
    const requested = list.pages.read(request, listed())
    // Somebody who left or came while the list is read moves the position of tokens by one.
    const page = Math.round(requested.skip / requested.size) + 1
    const due = hasFaults ? this.faults.take(page) : []
    for (const fault of due) {
      const reply = this.#replyInstead(fault)
      if (reply) return reply
      if (fault.kind === 'personMoved' && list.pages.isStable) continue
      this.changePeople(peopleAfter(fault, this.#people))
    }
    const people = listed()
    const { skip, size } = list.pages.read(request, people)
    const written = list.write({
      request,
      skip,
      size,
      records: peopleOfPage(due, { people, skip, size, page }).map((person) => list.shape(person, request)),
      total: totalWith(due, people.length),
      hasMore: skip + size < people.length,
      last: people[Math.min(skip + size, people.length) - 1] ?? null,
    })
    return due.some(({ kind }) => kind === 'textCut') ? cutInTheMiddle(written) : written
  }

  /** The answer of a fault that leaves no page; null for any other fault. */
  #replyInstead(fault: Fault): Reply | null {
    switch (fault.kind) {
      case 'unauthorized':
        this.tokens.revokeAll()
        return {
          status: 401,
          headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
          body: { error: 'expired' },
        }
      case 'tooManyRequests':
        return { status: 429, headers: this.#waitHeaders(fault), body: { error: 'too many requests' } }
      case 'html':
        return { ...loginForm, body: '<!doctype html><title>Maintenance</title><p>We are back soon.</p>' }
      case 'loginPage':
        return { status: 302, headers: { location: '/login' } }
      case 'status':
        return { status: fault.status, body: { error: 'internal' } }
      default:
        return null
    }
  }

  #waitHeaders({ wait, seconds }: Extract<Fault, { kind: 'tooManyRequests' }>): Readonly<Record<string, string>> {
    const endMs = this.#options.now() + seconds * 1000
    if (wait === 'seconds') return { 'retry-after': String(seconds) }
    if (wait === 'date') return { 'retry-after': new Date(endMs).toUTCString() }
    return wait === 'reset' ? { 'x-ratelimit-reset': String(Math.ceil(endMs / 1000)) } : {}
  }
}

const loginForm: Reply = {
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8' },
  body: '<!doctype html><title>Sign in</title><form method="post"><input name="password" type="password"></form>',
}

/** The reply with half of its text, which is as long as its headers say. */
function cutInTheMiddle(reply: Reply): Reply {
  const text = typeof reply.body === 'string' ? reply.body : JSON.stringify(reply.body ?? '')
  const headers = { 'content-type': 'application/json; charset=utf-8', ...reply.headers }
  return { ...reply, headers, body: text.slice(0, Math.floor(text.length / 2)) }
}
