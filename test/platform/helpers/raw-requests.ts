import { Pool } from 'undici'
import { requestPath } from '../../../src/http/client/address.ts'
import type { Call, NamedOperation } from '../generated/operations.ts'

/** A request as it goes over the wire. The client neither checks nor corrects it. */
export type RawRequest = {
  readonly method: string
  /** The path with prefix and query. */
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
}

/** `body` is undefined if there is none or if it is not JSON. */
export type RawAnswer = { readonly status: number; readonly text: string; readonly body: unknown }

export type RawClient = AsyncDisposable & {
  readonly ask: (request: RawRequest) => Promise<RawAnswer>
  readonly requestOf: (named: NamedOperation, call: Call, key: string) => RawRequest
}

const connections = 8

/** Sends requests that a typed client would not, over connections that stay open. */
export function openRawClient(baseUrl: string): RawClient {
  const base = new URL(baseUrl)
  const pool = new Pool(base.origin, { connections })
  return {
    async ask({ method, path, headers, body }) {
      const answer = await pool.request({ method, path, headers, body: body ?? null })
      const text = await answer.body.text()
      return { status: answer.statusCode, text, body: readJson(text) }
    },
    requestOf: ({ operation }, { params, query, body }, key) => ({
      method: operation.method,
      path: requestPath(base, operation, { params, query }),
      headers: {
        authorization: `Bearer ${key}`,
        ...(body !== undefined && { 'content-type': 'application/json' }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    }),
    [Symbol.asyncDispose]: () => pool.close(),
  }
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}
