import { z } from 'zod'
import type { Operation } from '../../../src/contract/operation.ts'
import type { Badness, Case } from './bad-cases.ts'
import { bodySchemaOf, bodyWith, type Field, fieldsOf, leavesOf, RawJson, valueAt } from './body-fields.ts'
import { fixtureOf } from './fixtures/areas.ts'
import type { JsonSchema } from './json-schema.ts'
import { type NamedOperation, validCall } from './operations.ts'
import { sqlFragments, unstorableTexts, wordsOfJavaScript } from './rubbish.ts'
import type { World } from './world.ts'

const ofEveryType = [true, false, 0, 7, 1.5, 'text', '', [], [null], [[]], {}, { a: 1 }, { length: 1 }]
const numbers = [
  ...[0, -1, 1.5, -0, 2_147_483_648, 1e308, 5e-324, Number.MAX_SAFE_INTEGER],
  ...['1e400', '-1e400', '9007199254740993', '99999999999999999999', '1.0000000000000000000000001'].map(
    (text) => new RawJson(text),
  ),
]
const dates = [
  ...['2026-13-45', '2026-02-30', '2026-02-30T00:00:00.000Z', '2026-01-01T25:00:00Z', '2026-01-01T00:00:00'],
  ...['0000-00-00T00:00:00Z', '+010000-01-01T00:00:00Z', '-000001-01-01T00:00:00Z', '9999-12-31T23:59:59-23:59', 'now'],
]
const addresses = [
  '@',
  'a@',
  '@b',
  'a@b',
  'a b@c.example',
  'a@b@c.example',
  'javascript:alert(1)',
  'http://',
  '//x',
  'x',
]
const uuids = ['00000000-0000-4000-8000-00000000000', '{00000000-0000-4000-8000-000000000000}']
const megabyte = 1024 * 1024
const deepest = 100

/** Bodies that are valid except for one field. */
export const badBodies: readonly Badness[] = [
  {
    kind: 'values of the wrong type',
    concerns: hasFields,
    cases: (world, named) => judged(world, named, () => ofEveryType),
  },
  {
    kind: 'null where it is not allowed',
    concerns: hasFields,
    cases: (world, named) => judged(world, named, () => [null]),
  },
  {
    kind: 'missing fields',
    concerns: (operation) => leaves(operation).some(({ required = [] }) => required.length > 0),
    cases: (world, named) => judged(world, named, ({ required }) => (required ? [undefined] : [])),
  },
  {
    kind: 'numbers out of range',
    concerns: (operation) => leaves(operation).some(isNumber),
    cases: (world, named) => judged(world, named, ({ alternatives }) => (alternatives.some(isNumber) ? numbers : [])),
  },
  {
    kind: 'unknown members of enumerations',
    concerns: (operation) => leaves(operation).some(({ enum: members }) => members !== undefined),
    cases: (world, named) => judged(world, named, ({ alternatives }) => alternatives.flatMap(almostMembers)),
  },
  {
    kind: 'texts that have no such format',
    concerns: (operation) => leaves(operation).some(({ format }) => format !== undefined),
    cases: (world, named) =>
      judged(world, named, ({ alternatives }) =>
        alternatives.some(({ format }) => format !== undefined)
          ? [...dates, ...addresses, ...uuids, ...sqlFragments, ...wordsOfJavaScript]
          : [],
      ),
  },
  {
    kind: 'texts too long or not storable',
    concerns: (operation) => leaves(operation).some(isText),
    // Whatever the schema allows: every text has a limit, and none may contain characters that a database refuses.
    cases: (world, named) => changed(world, named, ({ alternatives }) => alternatives.flatMap(unfitTexts)),
  },
  {
    kind: 'free objects that cannot be stored',
    concerns: (operation) => leaves(operation).some(isFree),
    cases: (world, named) =>
      changed(world, named, ({ alternatives, path }) =>
        alternatives.some(isFree) ? unfitObjects(valueAt(validBody(world, named), path)) : [],
      ).map((one) => ({ ...one, byItem: true, expected: [...one.expected, ...successes(named.operation)] })),
  },
  {
    kind: 'lists too long or too short',
    concerns: (operation) => leaves(operation).some(hasItemLimits),
    cases: (world, named) =>
      judged(world, named, ({ alternatives, path }) => {
        const [list] = alternatives.filter(hasItemLimits)
        return list ? unfitLists(list, valueAt(validBody(world, named), path)) : []
      }),
  },
  {
    kind: 'foreign and unknown ids in the body',
    concerns: (operation) => Object.keys(referencesIn(operation)).length > 0,
    cases: foreignReferences,
  },
]

/** The cases that the operation's own schema refuses. Values that it allows are valid. */
function judged(world: World, named: NamedOperation, values: (field: Field) => readonly unknown[]): Case[] {
  return changed(world, named, values).filter(({ request }) => !allows(named.operation, String(request.body)))
}

function changed(world: World, named: NamedOperation, values: (field: Field) => readonly unknown[]): Case[] {
  const body = validBody(world, named)
  const whole: Field = {
    path: [],
    schema: {},
    alternatives: [bodySchemaOf(named.operation)],
    required: false,
    nullable: false,
  }
  return [whole, ...fieldsOf(bodySchemaOf(named.operation), body)].flatMap((field) =>
    values(field).map((value) => ({
      label: `${['body', ...field.path].join('.')}`,
      ...sent(world, named, bodyWith(body, field.path, value)),
    })),
  )
}

function sent(world: World, named: NamedOperation, body: string) {
  const request = world.http.requestOf(named, validCall(named, world.mine.things), world.mine.key)
  const { item, body: schema } = named.operation
  const byItem = item !== undefined && schema?.safeParse(JSON.parse(body)).success === true
  return { request: { ...request, body }, expected: byItem ? [207] : [400], byItem }
}

/** Whether the schema of the operation takes this body, with all of its items. */
export function allows({ body, item }: Operation, text: string): boolean {
  const value: unknown = JSON.parse(text)
  if (!body?.safeParse(value).success) return false
  return item ? z.array(item).safeParse(value).success : true
}

function almostMembers({ enum: members = [] }: JsonSchema): string[] {
  if (members.length === 0) return []
  const [first] = members.map(String)
  return [
    `${first} `,
    ` ${first}`,
    `${first}\0`,
    `${first}S`,
    ...near(String(first)),
    ...wordsOfJavaScript,
    ...sqlFragments,
  ]
}

function near(member: string): string[] {
  return [member.toLowerCase(), member.toUpperCase(), ''].filter((text) => text !== member)
}

function unfitTexts(schema: JsonSchema): string[] {
  if (!isText(schema)) return []
  const tooLong =
    schema.maxLength === undefined
      ? []
      : ['x', '\u{1f600}'].map((character) => character.repeat((schema.maxLength ?? 0) + 1))
  return [...tooLong, 'x'.repeat(megabyte), ...unstorableTexts]
}

function unfitObjects(example: unknown): unknown[] {
  const [own] = Array.isArray(example) ? example : [example]
  const base = typeof own === 'object' && own !== null ? own : {}
  const deep: unknown = JSON.parse(`${'{"a":'.repeat(deepest)}1${'}'.repeat(deepest)}`)
  const keys = unstorableTexts.map((text) => ({ ...base, [text]: 1 }))
  const values = unstorableTexts.flatMap((text) => [
    { ...base, more: text },
    { ...base, more: [{ deeper: text }] },
  ])
  const objects = [...keys, ...values, { ...base, more: deep }]
  return Array.isArray(example) ? objects.map((object) => [object]) : objects
}

function unfitLists({ minItems = 0, maxItems }: JsonSchema, example: unknown): unknown[] {
  const [first] = Array.isArray(example) ? example : []
  const tooMany = maxItems === undefined ? [] : [Array(maxItems + 1).fill(first ?? 1)]
  return [...tooMany, ...(minItems > 0 ? [Array(minItems - 1).fill(first ?? 1)] : [])]
}

function foreignReferences(world: World, named: NamedOperation): Case[] {
  const { unchecked = {}, shared = [] } = fixtureOf(named.name)
  const body = validBody(world, named)
  const references = referencesIn(named.operation)
  return fieldsOf(bodySchemaOf(named.operation), body).flatMap(({ path, alternatives }) => {
    const name = String(path.at(-1))
    const singular = references[name]
    if (singular === undefined) return []
    const theirs = world.theirs.things[singular]
    if (theirs === undefined) throw new Error(`no fixture for ${singular}, which the body of ${named.name} names`)
    const isList = alternatives.some(({ type }) => type === 'array')
    const refusals = [400, 404, 409, 422].filter((status) => named.operation.errors.includes(status))
    const expected = name in unchecked ? [...refusals, ...successes(named.operation)] : refusals
    const foreign = shared.includes(singular) ? [] : [theirs]
    return [...foreign, 999_999_999, 2_147_483_648, Number.MAX_SAFE_INTEGER].map((id) => ({
      ...sent(world, named, bodyWith(body, path, isList ? [id] : id)),
      label: `${name} ${id === theirs ? 'of another account' : 'of nothing'}`,
      expected,
      byItem: false,
    }))
  })
}

/** The fields whose numbers are ids of other things, each with the name of one such thing. */
function referencesIn(operation: Operation): Readonly<Record<string, string>> {
  const fields = leaves(operation).flatMap(({ properties = {} }) => Object.entries(properties))
  const ids = fields.filter(([name, schema]) => /Ids?$/.test(name) && leavesOf(schema).some(isNumber))
  return Object.fromEntries(ids.map(([name]) => [name, name.replace(/s$/, '')]))
}

function validBody({ mine }: World, named: NamedOperation): unknown {
  return validCall(named, mine.things).body
}

function leaves(operation: Operation): JsonSchema[] {
  return operation.body ? leavesOf(bodySchemaOf(operation)) : []
}

function successes({ success }: Operation): number[] {
  return Object.keys(success).map(Number)
}

function hasFields(operation: Operation): boolean {
  return leaves(operation).some(({ properties }) => properties !== undefined)
}

function isNumber({ type }: JsonSchema): boolean {
  return type === 'integer' || type === 'number'
}

function isText({ type, enum: members }: JsonSchema): boolean {
  return type === 'string' && members === undefined
}

function isFree({ type, properties }: JsonSchema): boolean {
  return type === 'object' && properties === undefined
}

function hasItemLimits({ minItems, maxItems }: JsonSchema): boolean {
  return minItems !== undefined || maxItems !== undefined
}
