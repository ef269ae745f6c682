import type { Operation } from '../../../src/contract/operation.ts'
import { ExceptionResponse, NamedExceptionResponse } from '../../../src/contract/platform/common.ts'
import { isNamedStatus } from '../../../src/http/refusal.ts'
import type { RawAnswer, RawRequest } from '../helpers/raw-requests.ts'
import type { NamedOperation } from './operations.ts'
import type { World } from './world.ts'

/** A request that must change nothing, with the allowed statuses of the answer. */
export type Case = {
  readonly label: string
  readonly request: RawRequest
  readonly expected: readonly number[]
  /** Whether a success is allowed that refuses every item. */
  readonly byItem?: boolean
}

/** A kind of bad request, generated for every operation that can receive it. */
export type Badness = {
  readonly kind: string
  readonly concerns: (operation: Operation, name: string) => boolean
  /** Whether its requests lead to another operation or to none. */
  readonly leadsElsewhere?: boolean
  readonly cases: (world: World, named: NamedOperation) => readonly Case[] | Promise<readonly Case[]>
}

const shownLength = 200
const validatorWords =
  /Invalid (?:input|option|string|key|discriminator)|Too (?:big|small)|Unrecognized|received|call stack|\[object/
const refusals = { named: NamedExceptionResponse.strict(), nameless: ExceptionResponse.strict() }

/** What is wrong with the answer to a case, or null. */
export function objection({ label, request, expected, byItem = false }: Case, answer: RawAnswer): string | null {
  const problem =
    wrongStatus(expected, answer) ?? wrongBody(answer) ?? rawWords(answer) ?? (byItem ? acceptedItem(answer) : null)
  if (problem === null) return null
  const sent = request.body === undefined ? '' : ` ${shown(request.body.toString())}`
  return `${label}: ${request.method} ${shown(request.path)}${sent} was answered with ${answer.status} ${shown(answer.text)}; ${problem}`
}

function wrongStatus(expected: readonly number[], { status }: RawAnswer): string | null {
  return expected.includes(status) ? null : `expected ${expected.join(' or ')}`
}

function wrongBody({ status, body }: RawAnswer): string | null {
  if (status < 400) return null
  const parsed = (isNamedStatus(status) ? refusals.named : refusals.nameless).safeParse(body)
  if (!parsed.success) return `the body is not the one that the contract has for ${status}`
  return parsed.data.statusCode === status ? null : 'the body names another status'
}

// A refusal never quotes a value of the request, so a match comes from the validator.
function rawWords({ status, text }: RawAnswer): string | null {
  const match = status === 400 || status === 207 ? validatorWords.exec(text)?.[0] : undefined
  return match === undefined ? null : `"${match}" is a word of a validator`
}

function acceptedItem({ status, body }: RawAnswer): string | null {
  if (status >= 400) return null
  const items: readonly unknown[] = Array.isArray(body) ? body : [body]
  return items.length > 0 && items.every(isRefused) ? null : 'expected every item to be refused'
}

function isRefused(item: unknown): boolean {
  return typeof item === 'object' && item !== null && 'statusCode' in item && Number(item.statusCode) >= 400
}

function shown(text: string): string {
  return text.length > shownLength ? `${text.slice(0, shownLength)}… (${text.length})` : text
}
