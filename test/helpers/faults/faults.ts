import { pipeline } from 'node:stream/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ItemResult } from '../../../src/contract/platform/hris-user-identities.ts'
import { type Exchange, type Fault, type PlatformAnswer, pass } from './proxy.ts'

type Replaced = {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Text as it is, anything else as JSON; left out: an error as the platform writes it. */
  readonly body?: unknown
  /** Whether the platform gets the request all the same. */
  readonly forwarded?: boolean
}

const megabyte = Buffer.alloc(1024 * 1024, ' ')

/** What can happen to a request on its way to the platform and back. */
export const faults = {
  pass,

  /** Goes on with `then` after a while. */
  delayed: (ms: number, then: Fault = pass): Fault => ({
    name: then === pass ? 'delayed' : `delayed, ${then.name}`,
    async play(exchange) {
      await sleep(ms, undefined, { signal: exchange.signal })
      await then.play(exchange)
    },
  }),

  /** The connection is reset before the platform hears of the request. */
  resetBefore: { name: 'reset before', play: ({ response }) => void response.socket?.resetAndDestroy() },

  /** The platform has applied the request, and the connection is reset in place of its answer. */
  resetAfter: {
    name: 'reset after',
    async play({ forward, response }) {
      await forward()
      response.socket?.resetAndDestroy()
    },
  },

  /** The head of the platform's answer and half of its body, then the end of the connection. */
  half: (framing: 'length' | 'chunked'): Fault => ({
    name: `half (${framing})`,
    async play(exchange) {
      const half = await beginHalf(exchange, framing)
      exchange.response.write(half, () => exchange.response.destroy())
    },
  }),

  /** Nothing ever comes. */
  hang: ({ forwarded }: { forwarded: boolean }): Fault => ({
    name: forwarded ? 'hang after' : 'hang before',
    async play({ forward }) {
      if (forwarded) await forward()
    },
  }),

  /** Half of the platform's answer, and then nothing. */
  hangInBody: {
    name: 'hang in body',
    async play(exchange) {
      exchange.response.write(await beginHalf(exchange, 'length'))
    },
  },

  /** Another answer in place of the platform's. */
  answer: ({ status, headers = {}, body, forwarded = false }: Replaced): Fault => ({
    name: `${status}${forwarded ? ' after' : ''}`,
    async play({ forward, reply }) {
      if (forwarded) await forward()
      reply(answerOf(status, headers, body ?? { message: `answered ${status}`, code: status, name: 'Fault' }))
    },
  }),

  /** A page for people, as gateways and login walls send it. */
  html: ({ status, forwarded = false }: { status: number; forwarded?: boolean }): Fault => ({
    name: `html ${status}${forwarded ? ' after' : ''}`,
    async play({ forward, reply }) {
      if (forwarded) await forward()
      reply(answerOf(status, { 'content-type': 'text/html' }, '<!doctype html><title>Sign in</title><h1>Hello</h1>'))
    },
  }),

  /** A whole answer whose JSON ends in the middle. */
  truncated: {
    name: 'truncated',
    async play({ forward, reply }) {
      const answer = await forward()
      reply({ ...answer, body: halfOf(answer.body) })
    },
  },

  /** A whole answer that is no text. */
  garbled: {
    name: 'garbled',
    async play({ forward, reply }) {
      const answer = await forward()
      reply({ ...answer, body: Buffer.concat([answer.body, Buffer.from([0xff, 0xfe])]) })
    },
  },

  /** Sends the client elsewhere. */
  redirect: ({ status, to }: { status: number; to: string }): Fault => ({
    name: `redirect ${status}`,
    play: ({ request, reply }) => reply(answerOf(status, { location: `${to}${request.path}` }, '')),
  }),

  /** An answer that begins with this many megabytes of blanks. */
  oversized: (megabytes: number): Fault => ({
    name: 'oversized',
    async play({ forward, begin, response }) {
      const { status, headers, body } = await forward()
      begin(status, headers)
      await pipeline([...Array.from({ length: megabytes }, () => megabyte), body], response)
    },
  }),

  /** Another list of results for the batch that the platform has applied. */
  results: (name: string, change: (results: readonly ItemResult[]) => readonly ItemResult[]): Fault => ({
    name: `results ${name}`,
    async play({ forward, reply }) {
      const answer = await forward()
      const results = JSON.parse(answer.body.toString('utf8')) as ItemResult[] | object
      const changed = Array.isArray(results) ? change(results) : results
      reply({ ...answer, body: Buffer.from(JSON.stringify(changed)) })
    },
  }),
} as const satisfies Record<string, Fault | ((...args: never[]) => Fault)>

/** Ways in which a list of results can be unlike what was sent. */
export const resultChanges = {
  reversed: (results: readonly ItemResult[]) => results.toReversed(),
  shortened: (results: readonly ItemResult[]) => results.slice(0, -1),
  lengthened: (results: readonly ItemResult[]) => [...results, ...results.slice(0, 1)],
  empty: () => [],
  'without data': (results: readonly ItemResult[]) =>
    results.map((result): ItemResult => ({ ...result, statusCode: 200, data: null })),
} as const

/** Reports one item of the list as refused although the platform accepted it. */
export function refusedItem(position: number, statusCode: number) {
  return (results: readonly ItemResult[]): ItemResult[] =>
    results.map((result, i) =>
      i === position ? { statusCode, data: null, error: { message: `answered ${statusCode}` } } : result,
    )
}

async function beginHalf({ forward, begin }: Exchange, framing: 'length' | 'chunked'): Promise<Buffer> {
  const { status, headers, body } = await forward()
  begin(status, { ...headers, ...(framing === 'length' && { 'content-length': String(body.length) }) })
  return halfOf(body)
}

function halfOf(body: Buffer): Buffer {
  return body.subarray(0, Math.floor(body.length / 2))
}

function answerOf(status: number, headers: Readonly<Record<string, string>>, body: unknown): PlatformAnswer {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const type: Record<string, string> = typeof body === 'string' ? {} : { 'content-type': 'application/json' }
  return { status, headers: { ...type, ...headers }, body: Buffer.from(text) }
}
