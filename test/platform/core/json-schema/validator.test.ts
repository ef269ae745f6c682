import { expect, test } from 'vitest'
import { SchemaValidator } from '../../../../src/platform/core/json-schema/validator.ts'
import type { SchemaTask } from '../../../../src/platform/core/json-schema/worker.ts'

const hurry = { taskMs: 1000, memoryMb: 256 }
const stuckPattern = { properties: { a: { pattern: '^(a+)+$' } } }
const stuckRecord = { a: `${'a'.repeat(40)}!` }

function task(schema: SchemaTask['schema'], records: SchemaTask['records'] = [{}], cacheKey: number | null = null) {
  return { schema, records, cacheKey }
}

test('records are judged by position, each by the rules of the dialect that the schema names', async () => {
  await using validator = new SchemaValidator()
  const items = { properties: { a: { prefixItems: [{ type: 'string' }], items: false } } }

  const verdicts = [
    await validator.validate(1, task({ required: ['a'] }, [{ a: 1 }, {}, { a: null }])),
    await validator.validate(
      1,
      task({ $schema: 'https://json-schema.org/draft/2020-12/schema', ...items }, [{ a: ['', 1] }]),
    ),
    await validator.validate(
      1,
      task({ $schema: 'http://json-schema.org/draft-07/schema', dependencies: { a: ['b'] } }, [{ a: 1 }]),
    ),
    await validator.validate(
      1,
      task({ $schema: 'https://json-schema.org/draft/2019-09/schema', dependentRequired: { a: ['b'] } }, [{ a: 1 }]),
    ),
  ]

  const failing = verdicts.map((verdict) => ('failures' in verdict ? [...verdict.failures.keys()] : verdict))
  expect(failing).toEqual([[1], [0], [0], [0]])
})

test('known formats are checked, unknown formats and keywords are left aside', async () => {
  await using validator = new SchemaValidator()
  const schema = { properties: { mail: { format: 'email' }, other: { format: 'own', 'x-own': 1 } } }

  const verdict = await validator.validate(
    1,
    task(schema, [{ mail: 'no address', other: 'x' }, { mail: 'a@b.example' }]),
  )

  expect('failures' in verdict && [...verdict.failures.keys()]).toEqual([0])
})

test('a failure names at most five places, without a value and cut to a length', async () => {
  await using validator = new SchemaValidator()
  const record = Object.fromEntries(Array.from({ length: 9 }, (_, index) => [`${index}-${'k'.repeat(500)}`, 'secret']))

  const verdict = await validator.validate(1, task({ additionalProperties: { type: 'number' } }, [record]))

  const text = ('failures' in verdict && verdict.failures.get(0)) || '[]'
  expect(JSON.parse(text)).toHaveLength(5)
  expect(text).not.toContain('secret')
  expect(text.length).toBeLessThan(2000)
})

const doubling = Object.fromEntries(
  Array.from({ length: 40 }, (_, index) => {
    const next = { $ref: `#/definitions/d${index + 1}` }
    return [`d${index}`, { allOf: [next, next] }]
  }),
)

test.each<[string, SchemaTask]>([
  ['a pattern', task(stuckPattern, [stuckRecord])],
  ['references that double', task({ definitions: { ...doubling, d40: {} }, $ref: '#/definitions/d0' })],
  [
    'a comparison of everything with everything',
    task({ properties: { a: { uniqueItems: true } } }, [
      { a: Array.from({ length: 100_000 }, (_, index) => ({ index })) },
    ]),
  ],
])('%s that never ends is aborted, and the next task is validated', async (_what, stuck) => {
  await using validator = new SchemaValidator(hurry)

  const verdicts = [await validator.validate(1, stuck), await validator.validate(1, task({ required: ['a'] }))]

  expect(verdicts).toMatchObject([{ refusal: 'validation takes longer than 1000 ms' }, { failures: expect.any(Map) }])
})

test('a task that uses too much memory is aborted, and the next one is validated', async () => {
  await using validator = new SchemaValidator({ taskMs: 30_000, memoryMb: 32 })
  const greedy = task({ additionalProperties: { items: { type: 'string' } } }, [
    { a: Array.from({ length: 400_000 }, () => 1) },
  ])

  const verdicts = [await validator.validate(1, greedy), await validator.validate(1, task({ required: ['a'] }))]

  expect(verdicts).toMatchObject([{ refusal: expect.stringContaining('MiB of memory') }, { failures: expect.any(Map) }])
})

test.each<[string, Record<string, unknown>, string]>([
  ['refers to itself', { $ref: '#' }, 'it is nested too deeply, or refers to itself without end'],
  ['refers to what it lacks', { $ref: '#/definitions/no' }, 'it refers to #/definitions/no, which it does not have'],
  ['refers to elsewhere', { $ref: 'https://a.example/b' }, 'it refers to https://a.example/b, which it does not have'],
  ['has no such type', { type: 'strin' }, '/type must be equal to one of the allowed values'],
  ['has a part that is none', { properties: { a: 5 } }, '/properties/a must be object,boolean'],
  ['has no such pattern', { pattern: '(' }, 'one of its patterns is no regular expression'],
  ['has no such name', { $id: 5 }, 'it is no JSON Schema'],
  ['is of another dialect', { $schema: 'https://a.example/b' }, '$schema must name draft-07, 2019-09 or 2020-12'],
])('a schema that %s is refused in words for the one who wrote it', async (_what, schema, words) => {
  await using validator = new SchemaValidator()

  const verdict = await validator.validate(1, task(schema))

  expect(verdict).toEqual({ refusal: words })
})

test('an account whose schemas hang delays only itself', async () => {
  await using validator = new SchemaValidator({ ...hurry, taskMs: 2000 })
  const order: string[] = []
  const record = (name: string) => () => order.push(name)

  await Promise.all([
    validator.validate(1, task(stuckPattern, [stuckRecord])).then(record('stuck')),
    validator.validate(1, task(stuckPattern, [stuckRecord])).then(record('stuck again')),
    validator.validate(1, task({})).then(record('behind it')),
    validator.validate(2, task({})).then(record('another account')),
  ])

  expect(order).toEqual(['another account', 'stuck', 'stuck again', 'behind it'])
})

test('schemas that name themselves alike, or like a dialect, do not meet', async () => {
  await using validator = new SchemaValidator()
  const named = (required: string) => ({ $id: 'https://example.com/host', required: [required] })

  const verdicts = [
    await validator.validate(1, task(named('a'), [{ a: 1 }], 1)),
    await validator.validate(2, task(named('b'), [{ a: 1 }], 2)),
    await validator.validate(1, task({ $id: 'http://json-schema.org/draft-07/schema', type: 'string' })),
    await validator.validate(
      1,
      task({ properties: { a: { $ref: 'http://json-schema.org/draft-07/schema#' } } }, [{ a: { type: 1 } }]),
    ),
  ]

  const failing = verdicts.map((verdict) => ('failures' in verdict ? verdict.failures.size : 'refused'))
  expect(failing).toEqual([0, 1, 'refused', 1])
})

test('schemas beyond the cache are compiled again, each correctly', async () => {
  await using validator = new SchemaValidator()
  const keys = Array.from({ length: 60 }, (_, index) => index)
  const round = () =>
    Promise.all(
      keys.map((key) => validator.validate(key % 3, task({ required: [`p${key}`] }, [{ [`p${key}`]: 1 }, {}], key))),
    )

  const verdicts = [...(await round()), ...(await round())]

  const failing = verdicts.map((verdict) => ('failures' in verdict ? [...verdict.failures.keys()].join() : 'refused'))
  expect(new Set(failing)).toEqual(new Set(['1']))
})
