import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Operation } from '../contract/operation.ts'
import { describeIssues } from './issues.ts'
import { type Refusal, refuse } from './refusal.ts'
import { expectsList, readText } from './text.ts'

export type Input = { params?: unknown; query?: unknown; body?: unknown }

type Texts = Readonly<Record<string, string | readonly string[] | undefined>>

/** The parsed `params`, `query` and `body` of a request; throws the operation's refusal of a bad one. */
export function readInput(operation: Operation, request: FastifyRequest): Input {
  const input: Input = {}
  if (operation.params) {
    const texts = namedTexts(operation.params, request.params as Texts)
    input.params = parse(operation.params, texts, (issues) => refuseAddress(operation, issues))
  }
  if (operation.query) {
    const texts = namedTexts(operation.query, request.query as Texts)
    input.query = parse(operation.query, texts, (issues) => refuse('InvalidInput', issues))
  }
  if (operation.body)
    input.body = parse(operation.body, request.body, (issues) => refuse('InvalidInput', issues), 'body')
  return input
}

function parse(schema: z.ZodType, value: unknown, refusal: (issues: string) => Refusal, root?: string): unknown {
  const parsed = schema.safeParse(value)
  if (parsed.success) return parsed.data
  throw refusal(describeIssues(parsed.error, root))
}

// An address that cannot exist is a bad request where the operation lists one. Where it does not, nothing is found there.
// Bad queries and bodies have no such second meaning: they are 400 even where the list forgets it.
function refuseAddress(operation: Operation, issues: string): Refusal {
  return refuse('MalformedAddress', issues, operation.errors.includes(400) ? 400 : 404)
}

/** The values of the fields that the schema knows; names that it does not know are left aside. */
function namedTexts(schema: z.ZodObject, texts: Texts): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(schema.shape)) {
    const text = expectsList(field) ? listTexts(texts, name) : texts[name]
    if (text !== undefined) values[name] = readText(field, text)
  }
  return values
}

// Lists are documented with or without brackets behind the name, and clients mix the two up.
function listTexts(texts: Texts, name: string): string[] | undefined {
  const bare = name.replace(/\[\]$/, '')
  const found = [texts[bare], texts[`${bare}[]`]].flatMap((text) => text ?? [])
  return found.length === 0 ? undefined : found
}
