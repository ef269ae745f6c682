import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { inferSchema, isObject, schemaAt, schemaDifferences } from '../../../src/identity/shape/json-schema.ts'
import { inferSchema as inferredByPlatform } from '../../../src/platform/core/json-schema/infer.ts'

/** A schema without what it says of the members of lists. */
function withoutItems(schema: unknown): unknown {
  if (!isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).flatMap(([name, value]) =>
      name === 'items' && schema.type === 'array' ? [] : [[name, withoutItems(value)]],
    ),
  )
}

describe('the schema of a sample', () => {
  test('equals that of the platform, with the type of the first member for lists', () => {
    const sample = fc.dictionary(
      fc.string().filter((name) => name !== 'items'),
      fc.jsonValue(),
    )

    fc.assert(
      fc.property(sample, (record) => {
        expect(withoutItems(inferSchema(record))).toEqual(inferredByPlatform(record))
      }),
    )
  })

  test('has the types of values, of members of lists and of nested values', () => {
    const schema = inferSchema({ name: 'Ana', level: 3, tags: ['a'], none: [], unknown: null, laptop: { back: true } })

    expect(schema).toMatchObject({
      type: 'object',
      required: [],
      additionalProperties: true,
      properties: {
        name: { type: 'string' },
        level: { type: 'number' },
        tags: { type: 'array', items: { type: 'string' } },
        none: { type: 'array' },
        unknown: {},
        laptop: { type: 'object', properties: { back: { type: 'boolean' } } },
      },
    })
  })
})

describe('the place of a property', () => {
  const closed = { type: 'object', properties: { name: { type: 'string' } }, additionalProperties: false }

  test.each([
    ['a property', { properties: { name: { type: 'string' } } }, ['name'], { type: 'string' }],
    ['a nested one', { properties: { a: { properties: { b: { type: 'number' } } } } }, ['a', 'b'], { type: 'number' }],
    ['one that it does not speak of', { properties: {} }, ['name'], undefined],
    ['one that it does not allow', closed, ['other'], null],
    ['one that is false', { properties: { name: false } }, ['name'], null],
    ['one that it allows beside the others', { additionalProperties: { type: 'number' } }, ['x'], { type: 'number' }],
    [
      'one by its pattern',
      { ...closed, patternProperties: { '^x-': { type: 'number' } } },
      ['x-1'],
      { type: 'number' },
    ],
    ['one that no pattern allows', { ...closed, patternProperties: { '^x-': {} } }, ['y'], null],
    ['one below something that it does not speak of', {}, ['a', 'b'], undefined],
    ['a property that objects have anyway', { properties: {} }, ['constructor'], undefined],
    ['a property that objects have anyway, where nothing else may be', closed, ['toString'], null],
  ] as const)('is found: %s', (_case, schema, path, expected) => {
    expect(schemaAt(schema, path)).toEqual(expected)
  })

  test.each([
    ['by a definition', '#/definitions/name'],
    ['over two references', '#/definitions/again'],
    ['with a slash and a tilde in its name', '#/definitions/a~1b~0c'],
    ['with a blank in its name', '#/definitions/full%20name'],
    ['with a percent sign in its name', '#/definitions/100%'],
    ['among alternatives', '#/definitions/either/anyOf/1'],
  ])('is found behind a reference %s', (_case, $ref) => {
    const text = { type: 'string' }
    const definitions = {
      name: text,
      again: { $ref: '#/definitions/name' },
      'a/b~c': text,
      'full name': text,
      '100%': text,
      either: { anyOf: [{ type: 'number' }, text] },
    }

    expect(schemaAt({ properties: { name: { $ref } }, definitions }, ['name'])).toEqual(text)
  })

  test.each(['#/definitions/none', '#/definitions/__proto__', 'https://example.com/schema', '#/properties/name'])(
    'stays with a reference that leads nowhere: %s',
    ($ref) => {
      expect(schemaAt({ properties: { name: { $ref } }, definitions: {} }, ['name'])).toEqual({ $ref })
    },
  )
})

describe('the differences of two schemas', () => {
  test.each([
    ['annotations', { title: 'Worker', examples: [{}] }, { description: 'A person', default: { a: 1 } }],
    ['the dialect', { $schema: 'http://json-schema.org/draft-07/schema#' }, {}],
    ['annotations of a property', { properties: { a: { title: 'A' } } }, { properties: { a: {} } }],
    ['the order of what is required', { required: ['a', 'b'] }, { required: ['b', 'a'] }],
    ['the order of types', { type: ['string', 'null'] }, { type: ['null', 'string'] }],
    ['the order of properties', { properties: { a: {}, b: {} } }, { properties: { b: {}, a: {} } }],
    ['what demands nothing', { required: [], additionalProperties: true }, {}],
  ])('are none: %s', (_case, ours, theirs) => {
    expect(schemaDifferences(ours, theirs)).toEqual([])
    expect(schemaDifferences(theirs, ours)).toEqual([])
  })

  test.each([
    ['title', { type: 'string' }, { type: 'number' }],
    ['description', { type: 'string' }, undefined],
    ['default', true, undefined],
    ['required', { type: 'string' }, undefined],
    ['additionalProperties', true, false],
    ['const', { title: 'a', type: 'string' }, { title: 'b', type: 'number' }],
  ])('are found in a property that is called %s', (name, ours, theirs) => {
    const differences = schemaDifferences(
      { properties: { [name]: ours } },
      { properties: theirs === undefined ? {} : { [name]: theirs } },
    )

    expect(differences).toEqual([expect.stringContaining(`/properties/${name}`)])
  })

  test('are found in allowed values, also in a member with the name of an annotation', () => {
    const differences = schemaDifferences({ const: { title: 'a' } }, { const: { title: 'b' } })

    expect(differences).toEqual(['/const/title is "a" in the configuration and "b" on the platform'])
  })

  test('are listed one by one, at most ten', () => {
    const properties = (type: string) =>
      Object.fromEntries(Array.from({ length: 12 }, (_, at) => [`p${at}`, { type }] as const))

    const differences = schemaDifferences({ properties: properties('string') }, { properties: properties('number') })

    expect(differences[0]).toBe('/properties/p0/type is "string" in the configuration and "number" on the platform')
    expect(differences).toHaveLength(11)
    expect(differences[10]).toBe('2 more')
  })

  test('name keywords that are missing on either side', () => {
    const differences = schemaDifferences({ required: ['a'] }, { minProperties: 2 })

    expect(differences).toEqual([
      '/required is ["a"] in the configuration and missing on the platform',
      '/minProperties is missing in the configuration and 2 on the platform',
    ])
  })

  test('are none between a schema and itself', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (sample) => {
        const schema = inferSchema(sample)
        expect(schemaDifferences(schema, structuredClone(schema))).toEqual([])
      }),
    )
  })
})
