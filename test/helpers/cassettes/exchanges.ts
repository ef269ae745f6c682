import { subscribe, unsubscribe } from 'node:diagnostics_channel'

/** An exchange as it was, with secrets and people. */
export type RawExchange = {
  readonly origin: string
  readonly method: string
  readonly path: string
  readonly sent: string
  /** null: the connection broke before the answer. */
  status: number | null
  headers: Readonly<Record<string, string>>
  readonly chunks: Buffer[]
}

type SentRequest = { readonly origin: string; readonly method: string; readonly path: string; readonly body: unknown }
type Message = {
  readonly request: SentRequest
  readonly response: { readonly statusCode: number; readonly headers: readonly Buffer[] }
  readonly chunk: Buffer
}

/** Watches every request that undici sends in this process, until it is disposed. */
export function watchExchanges(): Disposable & { readonly exchanges: readonly RawExchange[] } {
  const byRequest = new Map<object, RawExchange>()
  const exchanges: RawExchange[] = []
  const listeners: Readonly<Record<string, (message: Message) => void>> = {
    create: ({ request }) => {
      const { origin, method, path, body } = request
      const exchange = { origin, method, path, sent: String(body ?? ''), status: null, headers: {}, chunks: [] }
      byRequest.set(request, exchange)
      exchanges.push(exchange)
    },
    headers: ({ request, response }) => {
      const exchange = byRequest.get(request)
      if (exchange) Object.assign(exchange, { status: response.statusCode, headers: headersOf(response.headers) })
    },
    bodyChunkReceived: ({ request, chunk }) => byRequest.get(request)?.chunks.push(chunk),
  }
  const channels = Object.entries(listeners).map(([name, listener]) => {
    const receive = (message: unknown) => listener(message as Message)
    subscribe(`undici:request:${name}`, receive)
    return () => unsubscribe(`undici:request:${name}`, receive)
  })
  return {
    exchanges,
    [Symbol.dispose]() {
      for (const end of channels) end()
    },
  }
}

/** Names and values take turns. */
function headersOf(raw: readonly Buffer[]): Readonly<Record<string, string>> {
  const pairs = raw.flatMap((name, index): [string, string][] =>
    index % 2 === 0 ? [[name.toString().toLowerCase(), raw[index + 1]?.toString() ?? '']] : [],
  )
  return Object.fromEntries(pairs)
}
