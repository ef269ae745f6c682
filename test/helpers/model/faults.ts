import type { ItemResult } from '../../../src/contract/platform/hris-user-identities.ts'
import type { AnyAnswer } from '../../../src/http/client/answer.ts'
import type { PlatformClient } from '../../../src/sync/context/context.ts'

/** How a request goes wrong. `answer` gets the call to the platform and returns the response. */
type Fault = (call: Call, about: { readonly name: string; readonly input: Input }) => Promise<AnyAnswer>
type Call = (input: Input) => Promise<AnyAnswer>
type Input = { readonly body?: unknown; readonly params?: unknown; readonly query?: unknown }

/**
 * The next requests fail in this way; before them, the script decides each request in turn. `late`: requests that were given up and are
 * still under way. `passesReads`: the script is only for requests that change something.
 */
export type Outage = {
  fault: FaultName | null
  remaining: number
  script: (Fate | null)[]
  passesReads: boolean
  late: Late[]
}
type Late = { readonly send: () => Promise<unknown>; ageMs: number }

const changing = ['upsertHrisUserIdentities', 'updateHrisUserIdentity', 'deleteHrisUserIdentity']

/** Everything that a platform and the way to it do to a request; what a fault is not about passes. */
const faults = {
  'cannot be reached': async () => unreachable('connect', false),
  'is lost on the way': async () => unreachable('reset', true),
  'has its answer lost': async (call, { input }) => {
    await call(input)
    return unreachable('reset', true)
  },
  'takes too long': async (call, { input }) => {
    await call(input)
    return unreachable('timeout', true)
  },
  'has its answer cut short': async (call, { input }) => {
    await call(input)
    return { status: 'unreadable', httpStatus: 200, reason: 'the body ends too early' }
  },
  'is answered by a proxy': async () => undeclared(502),
  'is answered 503': async () => undeclared(503),
  'is answered 429': async () => undeclared(429, 20),
  'is answered 500 after all': async (call, { input }) => {
    await call(input)
    return refusal(500)
  },
  'is answered 500 half-way': async (call, about) => {
    if (Array.isArray(about.input.body) && about.input.body.length > 1) {
      await call({ ...about.input, body: about.input.body.slice(0, Math.ceil(about.input.body.length / 2)) })
    }
    return refusal(500)
  },
  'has a key that is not known': async () => refusal(401),
  'lacks the plan': async () => refusal(402),
  'lacks a permission': async () => refusal(403),
  'lacks the terms': async () => refusal(412),
  'is too large': async (call, { name, input }) =>
    name === 'upsertHrisUserIdentities' && Array.isArray(input.body) && input.body.length > 1
      ? refusal(400)
      : await call(input),
  'has one person refused': async (call, { name, input }) => {
    if (name === 'updateHrisUserIdentity' || name === 'deleteHrisUserIdentity') return refusal(400)
    if (!Array.isArray(input.body) || name !== 'upsertHrisUserIdentities') return await call(input)
    const refused: ItemResult = { statusCode: 400, data: null, error: { message: 'not this one' } }
    const [, ...rest] = input.body
    if (rest.length === 0) return { status: 207, body: [refused], headers: {} }
    return withResults(await call({ ...input, body: rest }), (results) => [refused, ...results])
  },
  'has every second person refused': async (call, { name, input }) =>
    await withItems(call, { name, input }, (at) => (at % 2 === 1 ? 400 : null)),
  'fails on some people and refuses others': async (call, { name, input }) =>
    await withItems(call, { name, input }, (at) => [null, 400, 500][at % 3] ?? null),
  'fails if it is about a certain person': async (call, { name, input }) =>
    changing.includes(name) && JSON.stringify(input).includes('E0002') ? refusal(500) : await call(input),
  'has its results shuffled': async (call, { input }) =>
    withResults(await call(input), (results) => results.toReversed()),
  'has a result too few': async (call, { input }) => withResults(await call(input), (results) => results.slice(1)),
  'has a result too many': async (call, { input }) =>
    withResults(await call(input), (results) => [...results, ...results.slice(0, 1)]),
  'has results without data': async (call, { input }) =>
    withResults(await call(input), (results) => results.map((result) => ({ ...result, data: null }))),
} as const satisfies Record<string, Fault>

export type FaultName = keyof typeof faults
export const faultNames = Object.keys(faults) as FaultName[]
/** A request may also time out and reach the platform later. */
const arrivesLate = 'arrives late'
export type Fate = FaultName | typeof arrivesLate
export const fateNames: readonly Fate[] = [...faultNames, arrivesLate]

/** A client whose requests go wrong while an outage lasts. `step` is called for each request, and again after each successful change. */
export function faultyClient(
  client: PlatformClient,
  { outage, step }: { outage: Outage; step: (kind: 'any' | 'change') => Promise<void> },
): PlatformClient {
  const calls = Object.entries(client).map(([name, call]) => [
    name,
    async (input: Input, options?: { signal?: AbortSignal }) => {
      await step('any')
      // Without the text of the body that came along: a fault may send another body.
      const { signal } = options ?? {}
      const send: Call = (request) =>
        (call as (...args: unknown[]) => Promise<AnyAnswer>)(request, signal && { signal })
      const isScripted = !outage.passesReads || changing.includes(name)
      const scripted = isScripted ? outage.script.shift() : undefined
      const fault = scripted === undefined && outage.remaining > 0 ? outage.fault : (scripted ?? null)
      if (scripted === undefined) outage.remaining--
      if (fault === arrivesLate) {
        if (changing.includes(name)) outage.late.push({ send: () => send(input), ageMs: 0 })
        return unreachable('timeout', true)
      }
      const answer = fault === null ? await send(input) : await faults[fault](send, { name, input })
      if (changing.includes(name)) await step('change')
      return answer
    },
  ])
  return Object.fromEntries(calls)
}

/** Lets those people of a batch through for whom there is no status; the platform never hears of the others. */
async function withItems(
  call: Call,
  { name, input }: { name: string; input: Input },
  statusOf: (at: number) => number | null,
): Promise<AnyAnswer> {
  if (name !== 'upsertHrisUserIdentities' || !Array.isArray(input.body)) return await call(input)
  const passes = input.body.filter((_, at) => statusOf(at) === null)
  const answer: AnyAnswer =
    passes.length === 0 ? { status: 207, body: [], headers: {} } : await call({ ...input, body: passes })
  const people = input.body.length
  return withResults(answer, (results) => {
    const remaining = [...results]
    return Array.from({ length: people }, (_, at): ItemResult => {
      const statusCode = statusOf(at)
      const taken = statusCode === null ? remaining.shift() : undefined
      return taken ?? { statusCode: statusCode ?? 500, data: null, error: { message: `answered ${statusCode}` } }
    })
  })
}

function withResults(answer: AnyAnswer, make: (results: readonly ItemResult[]) => readonly ItemResult[]): AnyAnswer {
  return 'body' in answer && Array.isArray(answer.body) ? { ...answer, body: make(answer.body) } : answer
}

function unreachable(reason: 'connect' | 'reset' | 'timeout', sent: boolean): AnyAnswer {
  return { status: 'unreachable', reason, message: reason, sent }
}

function undeclared(httpStatus: number, retryAfterMs: number | null = null): AnyAnswer {
  return { status: 'undeclared', httpStatus, error: { message: 'unwell', code: null, name: null }, retryAfterMs }
}

function refusal(status: number): AnyAnswer {
  return { status, error: { message: 'no', code: status, name: null }, headers: {} }
}
