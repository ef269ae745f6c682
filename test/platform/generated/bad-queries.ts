import type { z } from 'zod'
import type { Operation } from '../../../src/contract/operation.ts'
import { parseParameter } from '../../../src/http/text.ts'
import { isFull } from '../../helpers/tier.ts'
import type { Badness, Case } from './bad-cases.ts'
import { exampleOf } from './example.ts'
import { fixtureOf } from './fixtures/areas.ts'
import { alternativesOf, type JsonSchema, jsonSchemaOf } from './json-schema.ts'
import { everyList, isReading, type NamedOperation, validCall } from './operations.ts'
import { sqlFragments, wordsOfJavaScript } from './rubbish.ts'
import type { World } from './world.ts'

/** Values, already percent-encoded. The parameter's own schema says which are invalid. */
const unlikelyValues = [
  ...['', '0', '-1', '1.5', '501', '1e3', '1e400', '0x10', '007', '%201', '9'.repeat(20), '9007199254740993'],
  ...[
    '2147483648',
    String(Number.MAX_SAFE_INTEGER),
    'NaN',
    'null',
    'undefined',
    'true',
    'TRUE',
    'yes',
    'abc',
    'ASC,DESC',
    '%D9%A3',
    '%E2%80%AE',
  ],
  ...[
    '2026-13-45',
    '2026-02-30T00:00:00.000Z',
    '0000-01-01',
    '%2B010000-01-01T00:00:00Z',
    '00000000-0000-4000-8000-00',
  ],
  ...[...wordsOfJavaScript, ...sqlFragments].map(encodeURIComponent),
]
const unstorable = ['%00', 'a%00b']
/** A value that is not UTF-8 is read undecoded, and checked in that form. */
const undecodable = ['%', '%zz', '%E0%A4%A', '%ff', '%ED%A0%80']
const longest = 12_000
const tooLongForHeaders = 20_000
const unknownParameters = 'page=3&__proto__=1&constructor=1&toString=1&a[b][c]=1&%00=1&%=1&&=&sizes=0&order=x&[]=1'
/** Parameters that may change from page to page. */
const unbound = new Set(['cursor', 'size', 'includeTotalCount', 'expand[]', 'facets[]'])

/** Queries of every kind. Values that the parameter's schema allows are tried too if they do no harm, and must get a listed answer. */
export const badQueries: readonly Badness[] = [
  {
    kind: 'queries that mean nothing',
    concerns: ({ query }) => query !== undefined,
    cases: (world, named) =>
      parameters(named).flatMap(([name, field]) =>
        [...unlikelyValues, ...undecodable].flatMap((text) => judged(world, named, { name, field, text })),
      ),
  },
  {
    kind: 'queries not storable or too long',
    concerns: ({ query }) => query !== undefined,
    cases: (world, named) =>
      parameters(named).flatMap(([name, field]) => [
        ...unstorable.map((text) => withQuery(world, named, `${name}=${text}`, [400])),
        withQuery(world, named, `${name}=${'9'.repeat(longest)}`, [400]),
        withQuery(world, named, `${name}=${'9'.repeat(tooLongForHeaders)}`, [431]),
        ...(takesList(field) ? [] : [withQuery(world, named, `${name}=1&${name}=1`, [400])]),
      ]),
  },
  {
    kind: 'unknown parameters, which are ignored',
    concerns: isReading,
    cases: (world, named) => [withQuery(world, named, unknownParameters, successes(named.operation))],
  },
  {
    kind: 'parameters in a spelling that is not theirs',
    concerns: ({ query }) => query !== undefined,
    cases: (world, named) =>
      parameters(named).flatMap(([name, field]) =>
        misspelled(name, takesList(field)).map((spelling) => withQuery(world, named, `${spelling}=1`, [400])),
      ),
  },
  {
    kind: 'cursors that were not given out',
    concerns: ({ query }) => query !== undefined && 'cursor' in query.shape,
    cases: cursorCases,
  },
]

/** A cursor to the second page of a list, with the key of the company and one record on the first page. */
export async function secondPage({ http }: World, company: World['mine'], list: NamedOperation): Promise<string> {
  const call = validCall(list, company.things)
  const { body, text } = await http.ask(http.requestOf(list, { ...call, query: { size: 1 } }, company.key))
  const cursor = (body as { pagination?: { cursor?: unknown } } | undefined)?.pagination?.cursor
  if (typeof cursor === 'string') return cursor
  throw new Error(`no fixture for the rows of ${list.name}: there is no second page in ${text.slice(0, 200)}`)
}

function judged(
  world: World,
  named: NamedOperation,
  { name, field, text }: { name: string; field: z.ZodType; text: string },
): Case[] {
  if (name === 'cursor' && isList(named)) return [withQuery(world, named, `cursor=${text}`, [400])]
  const value = parseParameter(field, takesList(field) ? [decoded(text)] : decoded(text))
  const isAllowed = field.safeParse(value).success
  if (isAllowed && !isReading(named.operation)) return []
  const expected = isAllowed ? answersToGoodQueries(named.operation) : [400]
  return [withQuery(world, named, `${encodeURIComponent(name)}=${text}`, expected)]
}

async function cursorCases(world: World, named: NamedOperation): Promise<Case[]> {
  if (!isList(named)) {
    return ['x', 'AAAA'].map((text) => withQuery(world, named, `cursor=${text}`, answersToGoodQueries(named.operation)))
  }
  const own = await secondPage(world, world.mine, named)
  const position = everyList.findIndex(({ name }) => name === named.name)
  const nextLists = [1, 2, 3].map((offset) => everyList[(position + offset) % everyList.length]?.name)
  const others = everyList.filter(({ name }) => (isFull ? name !== named.name : nextLists.includes(name)))
  const foreign = [await secondPage(world, world.theirs, named)]
  for (const other of others) foreign.push(await secondPage(world, world.mine, other))
  const { together = {} } = fixtureOf(named.name)
  const filtered = parameters(named)
    .filter(([name, field]) => !unbound.has(name) && !hasOneValue(field))
    .map(([name, field]) => {
      const filter = `${encodeURIComponent(name)}=${encodeURIComponent(filterValue(jsonSchemaOf(field)))}`
      return [`cursor=${own}`, filter, ...(name in together ? [together[name]] : [])].join('&')
    })
  const queries = [...[...foreign, ...tampered(own)].map((cursor) => `cursor=${cursor}`), ...filtered]
  return queries.map((query) => withQuery(world, named, query, [400]))
}

/** Spellings that a client means as `name`. An index in brackets is one of a list. */
function misspelled(name: string, isRepeatable: boolean): string[] {
  const bare = name.replace('[]', '')
  const other = bare === bare.toLowerCase() ? bare.toUpperCase() : bare.toLowerCase()
  return [
    other,
    `${other}[]`,
    `${bare}[x]`,
    `${bare}[0][1]`,
    `${bare}.0`,
    `${bare}%20`,
    ...(isRepeatable ? [] : [`${bare}[]`, `${bare}[0]`]),
  ]
}

function tampered(cursor: string): string[] {
  const flipped = (index: number) =>
    `${cursor.slice(0, index)}${cursor[index] === 'A' ? 'B' : 'A'}${cursor.slice(index + 1)}`
  const position = Buffer.from(JSON.stringify({ at: 0, id: 0 })).toString('base64url')
  return [
    ...[0, Math.floor(cursor.length / 2), cursor.length - 1].map(flipped),
    ...[cursor.slice(1), cursor.slice(0, -1), `${cursor}A`, `${cursor}=`, `${cursor}%00`, `%20${cursor}`],
    ...[cursor.toUpperCase(), cursor.slice(0, 21), cursor.slice(21), position, `${'A'.repeat(22)}${position}`],
  ]
}

/** A value of a filter that is not its default. */
function filterValue(schema: JsonSchema): string {
  const [first = {}] = alternativesOf(schema)
  const inner = first.type === 'array' ? (alternativesOf(first.items ?? {})[0] ?? {}) : first
  return String(inner.enum?.at(-1) ?? exampleOf(inner, () => undefined))
}

/** Whether a parameter has only one possible value, such as the only order of a list. */
function hasOneValue(field: z.ZodType): boolean {
  return alternativesOf(jsonSchemaOf(field)).every(({ enum: members }) => members?.length === 1)
}

function withQuery(world: World, named: NamedOperation, query: string, expected: readonly number[]): Case {
  const { query: _extras, ...call } = validCall(named, world.mine.things)
  const request = world.http.requestOf(named, { ...call, query: {} }, world.mine.key)
  return { label: query.slice(0, 60), request: { ...request, path: `${request.path}?${query}` }, expected }
}

function answersToGoodQueries(operation: Operation): number[] {
  return [...successes(operation), ...[400, 403, 404].filter((status) => operation.errors.includes(status))]
}

function successes({ success }: Operation): number[] {
  return Object.keys(success).map(Number)
}

function isList(named: NamedOperation): boolean {
  return everyList.some(({ name }) => name === named.name)
}

function takesList(field: z.ZodType): boolean {
  return alternativesOf(jsonSchemaOf(field)).some(({ type }) => type === 'array')
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function parameters({ operation }: NamedOperation): [string, z.ZodType][] {
  return Object.entries(operation.query?.shape ?? {})
}
