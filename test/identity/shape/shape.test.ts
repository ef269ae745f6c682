import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { IdentityRecord, OwnField } from '../../../src/identity/record.ts'
import type { JsonObject } from '../../../src/identity/shape/json-schema.ts'
import { type Property, propertyAt, propertyTypes } from '../../../src/identity/shape/property.ts'
import { compileShape } from '../../../src/identity/shape/shape.ts'

const text: Property = { type: 'string', isList: false, mayBeNull: false }

function shapeOf(schema: JsonObject, fields: Readonly<Record<OwnField, Property>>) {
  return compileShape(schema, new Map(Object.entries(fields) as [OwnField, Property][]))
}

/** The shape of these properties as the schema has them. */
function shapeBySchema(schema: JsonObject, ...names: readonly OwnField[]) {
  const properties = names.flatMap((name) => {
    const property = propertyAt(schema, name)
    return property === null || typeof property === 'string' ? [] : [[name, property] as const]
  })
  return compileShape(schema, new Map(properties))
}

describe('what the schema says of a property', () => {
  test.each([
    ['a text', { type: 'string' }, { type: 'string' }],
    ['a number', { type: 'number' }, { type: 'number' }],
    ['a whole number', { type: 'integer' }, { type: 'integer' }],
    ['yes or no', { type: 'boolean' }, { type: 'boolean' }],
    ['a date', { type: 'string', format: 'date' }, { type: 'date' }],
    ['a moment', { type: 'string', format: 'date-time' }, { type: 'date-time' }],
    ['a text of another format', { type: 'string', format: 'email' }, { type: 'string' }],
    ['a text or nothing', { type: ['string', 'null'] }, { type: 'string', mayBeNull: true }],
    ['anything', {}, { type: 'string' }],
    ['one of some texts', { enum: ['north', 'south'] }, { type: 'string' }],
    ['one of some numbers, or nothing', { enum: [1, 2.5, null] }, { type: 'number', mayBeNull: true }],
    ['one number', { const: 0 }, { type: 'number' }],
    ['always true', { const: true }, { type: 'boolean' }],
    ['a list', { type: 'array', items: { type: 'integer' } }, { type: 'integer', isList: true }],
    ['a list of dates', { type: 'array', items: { type: 'string', format: 'date' } }, { type: 'date', isList: true }],
    ['a list of anything', { type: 'array' }, { type: 'string', isList: true }],
    ['a list or nothing', { type: ['array', 'null'] }, { type: 'string', isList: true, mayBeNull: true }],
  ])('is %s', (_case, schema, expected) => {
    expect(propertyAt({ properties: { a: schema } }, '.a')).toEqual({ isList: false, mayBeNull: false, ...expected })
  })

  test.each([
    ['an object', { type: 'object' }, 'is an object: map its properties by dotted names'],
    ['several types', { type: ['string', 'number'] }, 'has several types'],
    ['one of several values of several types', { enum: ['a', 1] }, 'has several types'],
    ['a list of objects', { type: 'array', items: { type: 'object' } }, expect.stringContaining('no cell can hold')],
    ['a list of lists', { type: 'array', items: { type: 'array' } }, expect.stringContaining('no cell can hold')],
    ['a list of several types', { type: 'array', items: { type: ['string', 'number'] } }, 'is a list of several types'],
  ])('is nothing that a cell can hold: %s', (_case, schema, expected) => {
    expect(propertyAt({ properties: { a: schema } }, '.a')).toEqual(expected)
  })

  test('reports a property that the schema does not allow', () => {
    expect(propertyAt({ properties: {}, additionalProperties: false }, '.a')).toBeNull()
  })

  test('finds nested properties', () => {
    const schema = { properties: { laptop: { properties: { returned: { type: 'boolean' } } } } }

    expect(propertyAt(schema, '.laptop.returned')).toMatchObject({ type: 'boolean' })
  })
})

describe('a record', () => {
  const name = fc.string({ minLength: 1 }).filter((member) => !member.includes('.'))
  const scalars = {
    string: fc.string(),
    number: fc.double({ noNaN: true, noDefaultInfinity: true }).map((value) => (value === 0 ? 0 : value)),
    integer: fc.maxSafeInteger(),
    boolean: fc.boolean(),
    date: fc.constantFrom('2024-02-29', '1999-12-31'),
    'date-time': fc.constant('2024-02-29T10:00:00.000Z'),
  }
  const nullable = fc.record({ type: fc.constantFrom(...propertyTypes), isList: fc.boolean(), mayBeNull: fc.boolean() })
  const pair = nullable.chain((property) => {
    const one: fc.Arbitrary<unknown> = scalars[property.type]
    const value = property.isList ? fc.array(one) : one
    return fc.record({
      property: fc.constant(property),
      value: property.mayBeNull ? fc.option(value, { nil: null }) : value,
    })
  })
  // All paths have one length, so that none holds another one.
  const properties = fc.integer({ min: 1, max: 3 }).chain((length) =>
    fc.uniqueArray(fc.record({ path: fc.array(name, { minLength: length, maxLength: length }), pair }), {
      selector: ({ path }) => path.join('.'),
    }),
  )

  test('of the platform survives a round trip, whatever its properties are', () => {
    fc.assert(
      fc.property(properties, (all) => {
        const mapped = all.filter(({ path }) => path.join('.') !== 'id' && path[0] !== 'id')
        const fields = new Map(mapped.map(({ path, pair: { property } }) => [`.${path.join('.')}` as const, property]))
        const shape = compileShape({}, fields)
        const values = mapped.map(({ path, pair: { value } }) => [`.${path.join('.')}`, value] as const)

        const first = shape.attributesOf({ identityId: 'E1', ...shape.fieldsOf(nested(values)) })

        expect(JSON.parse(JSON.stringify(first))).toEqual({ id: 'E1', ...nested(values) })
        expect(shape.fieldsOf(first)).toEqual(shape.fieldsOf(nested(values)))
      }),
    )
  })

  test('is written with nested names, lists, numbers and booleans', () => {
    const shape = shapeOf(
      {},
      {
        '.name': text,
        '.laptop.returned': { ...text, type: 'boolean' },
        '.laptop.model': text,
        '.level': { ...text, type: 'number' },
        '.trainings': { ...text, isList: true },
      },
    )

    const attributes = shape.attributesOf({
      identityId: 'E1',
      email: 'not@mapped.example',
      '.name': 'Ana',
      '.laptop.returned': true,
      '.laptop.model': 'X1',
      '.level': '2.5',
      '.trainings': '["fire","first aid"]',
      '.other': 'not mapped',
    })

    expect(attributes).toEqual({
      id: 'E1',
      name: 'Ana',
      laptop: { returned: true, model: 'X1' },
      level: 2.5,
      trainings: ['fire', 'first aid'],
    })
  })

  test('leaves out cleared values, unless the schema allows null', () => {
    const shape = shapeOf({}, { '.a': text, '.b': { ...text, mayBeNull: true }, '.c.d': text })

    expect(shape.attributesOf({ identityId: 'E1', '.a': null, '.b': null, '.c.d': null })).toEqual({
      id: 'E1',
      b: null,
    })
  })

  test('that was read under another schema is checked by the schema', () => {
    const schema = { properties: { level: { type: 'number' }, tags: { type: 'array' } } }
    const shape = shapeBySchema(schema, '.level', '.tags')

    expect(shape.attributesOf({ identityId: 'E1', '.level': 'high', '.tags': 'a;b' })).toEqual({
      ...{ id: 'E1', level: 'high', tags: 'a;b' },
    })
    expect(shape.faultOf({ identityId: 'E1', '.level': 'high' }, false)).toMatchObject({ field: '.level' })
  })

  test('of the platform with a value of another type differs from every right one', () => {
    const number = { ...text, type: 'number' } as const
    const shape = shapeOf(
      {},
      { '.level': number, '.back': { ...text, type: 'boolean' }, '.list': { ...text, isList: true } },
    )

    expect(shape.fieldsOf({ level: 5, back: true, list: ['a'] })).toEqual({
      '.level': '5',
      '.back': true,
      '.list': '["a"]',
    })
    expect(shape.fieldsOf({ level: '5', back: 'true', list: 'a' })).toEqual({
      ...{ '.level': '"5"', '.back': '"true"', '.list': '"a"' },
    })
  })

  test.each(['__proto__', 'constructor', 'toString'])('holds a property that is called %s like any other', (key) => {
    const shape = shapeOf({}, { [`.${key}`]: text, [`.in.${key}.deep`]: text })
    const original = JSON.parse(`{"${key}":"a","in":{"${key}":{"deep":"b"}}}`)

    const fields = shape.fieldsOf(original)
    const attributes = shape.attributesOf({ identityId: 'E1', ...fields })

    expect(fields).toEqual({ [`.${key}`]: 'a', [`.in.${key}.deep`]: 'b' })
    expect(JSON.stringify(attributes)).toBe(`{"id":"E1",${JSON.stringify(original).slice(1)}`)
    expect(shape.fieldsOf({})).toEqual({ [`.${key}`]: null, [`.in.${key}.deep`]: null })
    expect(Object.keys(Object.prototype)).toEqual([])
  })
})

describe('what a record violates', () => {
  const schema = {
    type: 'object',
    required: ['name', 'laptop'],
    properties: {
      id: { type: 'string' },
      name: { type: 'string', minLength: 2 },
      level: { type: 'integer', maximum: 9 },
      start: { type: 'string', format: 'date' },
      room: { enum: ['north', 'south'] },
      tags: { type: 'array', items: { type: 'string', pattern: '^[a-z]+$' }, uniqueItems: true },
      laptop: { type: 'object', required: ['returned'], properties: { returned: { type: 'boolean' } } },
      2024: { type: 'string', maxLength: 3 },
    },
    additionalProperties: false,
  }
  const fields = ['.name', '.level', '.start', '.room', '.tags', '.laptop.returned', '.laptop.model', '.2024'] as const
  const shape = shapeBySchema(schema, ...fields)
  const right: IdentityRecord = { identityId: 'E1', '.name': 'Ana', '.laptop.returned': false }

  test('is nothing if it satisfies the schema', () => {
    expect(shape.faultOf(right, false)).toBeNull()
  })

  test.each([
    ['.name', { '.name': 'Å' }, 'the schema says of name: must NOT have fewer than 2 characters'],
    ['.level', { '.level': '4711' }, 'the schema says of level: must be <= 9'],
    ['.start', { '.start': '4711-99-99' }, 'the schema says of start: must match format "date"'],
    ['.room', { '.room': 'roof' }, 'the schema says of room: must be equal to one of the allowed values'],
    ['.tags', { '.tags': '["ok","NO"]' }, 'the schema says of tags: must match pattern "^[a-z]+$"'],
    ['.2024', { '.2024': 'much' }, 'the schema says of 2024: must NOT have more than 3 characters'],
    ['.laptop.returned', { '.laptop.returned': null, '.laptop.model': 'X1' }, "must have required property 'returned'"],
    ['.laptop', { '.laptop.returned': null }, "must have required property 'laptop'"],
    ['.name', { '.name': null }, "must have required property 'name'"],
  ] as const)('is reported by property and rule, never by value: %s of %j', (field, values, reason) => {
    const fault = shape.faultOf({ ...right, ...values }, false)

    expect(fault).toEqual({ field, reason: expect.stringContaining(reason) })
    for (const value of ['Å', '4711', 'roof', '"NO"', 'much']) expect(fault?.reason).not.toContain(value)
  })

  test('is reported for the whole record if no single property violates it', () => {
    const whole = shapeOf({ minProperties: 3 }, { '.name': text })

    expect(whole.faultOf({ identityId: 'E1', '.name': 'Ana' }, false)).toEqual({
      field: null,
      reason: 'the schema says of the record: must NOT have fewer than 3 properties',
    })
    expect(whole.faultOf({ identityId: 'E1', '.name': 'Ana' }, true)).toBeNull()
  })

  test('is never a missing property of a partial record', () => {
    expect(shape.faultOf({ identityId: 'E1' }, true)).toBeNull()
    expect(shape.faultOf({ identityId: 'E1', '.laptop.returned': null }, true)).toBeNull()
    expect(shape.faultOf({ identityId: 'E1', '.level': '10' }, true)).toMatchObject({ field: '.level' })
  })

  test.each([
    ['alternatives', { anyOf: [{ required: ['a'] }, { required: ['b'] }] }, { '.c': 'x' }],
    ['exactly one of several', { oneOf: [{ properties: { a: { const: 'x' } } }, { properties: { b: {} } }] }, {}],
    ['a condition', { if: { required: ['a'] }, else: { properties: { b: { const: 'y' } } } }, { '.b': 'z' }],
    ['what must not be', { not: { properties: { a: { const: 'x' } } } }, { '.b': 'z' }],
  ])('of a partial record is nothing that only the whole record decides: %s', (_case, rules, values) => {
    const judged = shapeOf(rules, { '.a': text, '.b': text, '.c': text })

    expect(judged.faultOf({ identityId: 'E1', ...values }, true)).toBeNull()
    expect(judged.faultOf({ identityId: 'E1', ...values }, false)).not.toBeNull()
  })
})

test.each([
  ['a type that there is not', { type: 'text' }],
  ['a pattern that is none', { properties: { a: { pattern: '(' } } }],
  ['a reference that leads nowhere', { properties: { a: { $ref: '#/definitions/none' } } }],
])('a schema with %s is refused', (_case, schema) => {
  expect(() => compileShape(schema, new Map())).toThrow()
})

/** The record that has these values at its dotted names. */
function nested(values: readonly (readonly [string, unknown])[]): JsonObject {
  const record: Record<string, unknown> = {}
  for (const [field, value] of values) {
    const [last = '', ...above] = field.slice(1).split('.').toReversed()
    let parent = record
    for (const name of above.toReversed()) {
      if (!Object.hasOwn(parent, name)) Object.defineProperty(parent, name, own({}))
      parent = Object.getOwnPropertyDescriptor(parent, name)?.value
    }
    Object.defineProperty(parent, last, own(value))
  }
  return record
}

function own(value: unknown): PropertyDescriptor {
  return { value, enumerable: true, configurable: true, writable: true }
}
