import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'
import type { Operation } from '../../contract/operation.ts'
import { describeIssues, inPlainWords } from '../issues.ts'
import { type Refusal, refuse } from '../refusal.ts'
import { expectsList, expectsObjectList, parseParameter, type UrlText } from '../text.ts'

/** The parsed parts of a request. */
export type Input = { params?: unknown; query?: unknown; body?: unknown }

type Texts = Readonly<Record<string, UrlText | undefined>>

/** The parsed `params`, `query` and `body` of a request. Throws the operation's refusal of an invalid request. */
export function readInput(operation: Operation, request: FastifyRequest): Input {
  const input: Input = {}
  if (operation.params) {
    const texts = namedTexts(operation.params, request.params as Texts)
    input.params = parse(operation.params, texts, (issues) => refuse('MalformedAddress', issues))
  }
  if (operation.query) {
    const query = withListNames(operation.query, withObjects(operation.query, request.query as Texts))
    const misspelled = misspelledName(operation.query, query)
    if (misspelled !== null) throw refuse('InvalidInput', misspelled)
    input.query = parse(operation.query, namedTexts(operation.query, query), (issues) => refuse('InvalidInput', issues))
  }
  if (operation.body)
    input.body = parse(operation.body, request.body, (issues) => refuse('InvalidInput', issues), 'body')
  return input
}

function parse(schema: z.ZodType, value: unknown, refusal: (issues: string) => Refusal, root?: string): unknown {
  const parsed = schema.safeParse(value, { error: inPlainWords })
  if (parsed.success) return parsed.data
  throw refusal(describeIssues(parsed.error, root))
}

/** The values of the fields that the schema knows. Unknown names are ignored. */
function namedTexts(schema: z.ZodObject, texts: Texts): Record<string, unknown> {
  const values: Record<string, unknown> = {}
  for (const [name, field] of Object.entries(schema.shape)) {
    const text = texts[name]
    if (text !== undefined) values[name] = parseParameter(field, text)
  }
  return values
}

/** The query with the objects of its lists: `list[0][name]=x` is the property `name` of the first one. */
function withObjects({ shape }: z.ZodObject, texts: Texts): Texts {
  const lists = Object.keys(shape).filter((name) => expectsObjectList(shape[name]))
  if (lists.length === 0) return texts
  const rest: [string, Texts[string]][] = []
  const byList = new Map<string, Map<number, Map<string, UrlText>>>()
  for (const [received, text = ''] of Object.entries(texts)) {
    const [, name = '', index, property = ''] = /^(\w+)\[(\d{1,3})\]\[(\w+)\]$/.exec(received) ?? []
    if (!lists.includes(name)) rest.push([received, text])
    else
      byList
        .getOrInsertComputed(name, () => new Map())
        .getOrInsertComputed(Number(index), () => new Map())
        .set(property, text)
  }
  const objects = [...byList].map(([name, list]): [string, UrlText] => [
    name,
    [...list].sort(([one], [other]) => one - other).map(([, properties]) => Object.fromEntries(properties)),
  ])
  return Object.fromEntries([...rest, ...objects])
}

/**
 * The query with the list names of the schema. Lists are documented with or without brackets after the name; clients confuse the two, and
 * some write an index between the brackets.
 */
function withListNames({ shape }: z.ZodObject, texts: Texts): Texts {
  const lists = Object.keys(shape).filter((name) => expectsList(shape[name]))
  const nameOf = (received: string) =>
    lists.find((name) => withoutBrackets(name) === received.replace(/\[\d*\]$/, '')) ?? received
  const named = new Map<string, Texts[string]>()
  for (const [received, text] of Object.entries(texts)) {
    const name = nameOf(received)
    const before = named.get(name)
    named.set(name, before === undefined ? text : ([before, text ?? []].flat() as readonly UrlText[]))
  }
  return Object.fromEntries(named)
}

/** Why a query with a misspelled parameter is refused, or null. Ignoring the parameter would return something else than requested. */
function misspelledName({ shape }: z.ZodObject, texts: Texts): string | null {
  const names = Object.keys(shape)
  for (const received of Object.keys(texts)) {
    const meant = names.find((name) => comparedName(name) === comparedName(received))
    if (meant !== undefined && !names.includes(received)) return `${meant}: must be spelled so, and not in another way`
  }
  return null
}

/** The form in which spellings of a name are compared: `expand[x]`, `Expand` and `expand.0` all mean `expand[]`. */
function comparedName(name: string): string {
  return name
    .replace(/[[.].*$/s, '')
    .replaceAll(/[\s_-]/g, '')
    .toLowerCase()
}

function withoutBrackets(name: string): string {
  return name.replace(/\[\]$/, '')
}
