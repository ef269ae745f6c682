import { describe, expect, test } from 'vitest'
import { fingerprint } from '../../../src/identity/digest.ts'
import {
  compileMapping,
  expressionsOf,
  Mapping,
  MappingPatch,
  mergePreset,
} from '../../../src/identity/mapping/mapping.ts'
import type { JsonObject } from '../../../src/identity/shape/json-schema.ts'
import { propertyAt } from '../../../src/identity/shape/property.ts'
import { compileShape } from '../../../src/identity/shape/shape.ts'

const schema = {
  type: 'object',
  properties: {
    text: { type: 'string' },
    number: { type: 'number' },
    whole: { type: 'integer' },
    flag: { type: 'boolean' },
    day: { type: 'string', format: 'date' },
    moment: { type: 'string', format: 'date-time' },
    texts: { type: 'array', items: { type: 'string' } },
    numbers: { type: 'array', items: { type: 'number' } },
    flags: { type: 'array', items: { type: 'boolean' } },
    days: { type: 'array', items: { type: 'string', format: 'date' } },
  },
}

type MapOptions = {
  readonly record: Readonly<Record<string, object>>
  readonly cells?: Readonly<Record<string, string | undefined>>
  readonly fields?: Readonly<Record<string, unknown>>
  readonly rules?: Readonly<Record<string, unknown>>
  readonly of?: JsonObject
  readonly derived?: readonly string[]
  readonly timeZone?: string
}

/** The mapping of these properties, each with what the schema says of it. */
function mappingOf({ record, fields, rules, of = schema }: MapOptions) {
  const typed = Object.entries(record).map(([name, rule]) => [name, { ...rule, property: propertyAt(of, `.${name}`) }])
  return Mapping.safeParse({ fields: { identityId: 'id', ...fields }, record: Object.fromEntries(typed), ...rules })
}

/** Maps one row whose records are judged by the schema. */
function map(options: MapOptions) {
  const { record, cells = {}, of = schema, derived = [], timeZone = 'UTC' } = options
  const mapping = mappingOf(options).data
  if (!mapping) throw new Error('the mapping is refused')
  const properties = Object.keys(record).flatMap((name) => {
    const property = propertyAt(of, `.${name}`)
    return property === null || typeof property === 'string' ? [] : [[`.${name}`, property] as const]
  })
  const { faultOf } = compileShape(of, new Map(properties))
  const all = { id: 'E1', ...cells }
  const compiled = compileMapping(mapping, Object.keys(all), { faultOf, timeZone })
  if (!compiled.ok) throw new Error(compiled.missing.join('; '))
  return compiled.map({ values: [...Object.values(all), ...derived], origin: { file: 'people.csv', line: 41 } })
}

/** What one cell becomes, of the property that is read from it. */
function read(property: string, cell: string, rule: object = {}, timeZone = 'UTC') {
  return map({ record: { [property]: { column: 'cell', ...rule } }, cells: { cell }, timeZone })
}

/** Why a mapping is refused, with its place. */
function refusals(result: ReturnType<typeof mappingOf> | ReturnType<(typeof MappingPatch)['safeParse']>): string {
  return JSON.stringify(result.error?.issues ?? [])
}

describe('a cell is read by the type in the schema', () => {
  test.each([
    ['text', ' Ana\u0301 ', {}, 'An\u00e1'],
    ['text', ' Ana ', { trim: false }, ' Ana '],
    ['text', 'ANA', { lowercase: true }, 'ana'],
    ['text', 'two\nlines', {}, 'two\nlines'],
    ['text', 'x'.repeat(5000), {}, 'x'.repeat(5000)],
    ['number', '2.50', {}, '2.5'],
    ['number', '1,234,567.5', {}, '1234567.5'],
    ['number', '-0', {}, '0'],
    ['number', '1.234.567,5', { decimal: ',' }, '1234567.5'],
    ['number', '2,5', { decimal: ',' }, '2.5'],
    ['whole', '+007', {}, '7'],
    ['whole', '12.000', { decimal: ',' }, '12000'],
    ['whole', '3.0', {}, '3'],
    ['flag', 'Yes', {}, true],
    ['flag', '0', {}, false],
    ['day', '2024-02-29', {}, '2024-02-29'],
    ['day', '29/02/2024', { format: ['yyyy-MM-dd', 'dd/MM/yyyy'] }, '2024-02-29'],
    ['day', '01.03.2024', { format: 'dd.MM.yyyy', offsetDays: -1 }, '2024-02-29'],
    ['moment', '2024-02-29T10:00:00+02:00', { format: "yyyy-MM-dd'T'HH:mm:ssXXX" }, '2024-02-29T08:00:00.000Z'],
    ['moment', '2024-02-29', {}, '2024-02-29T00:00:00.000Z'],
    ['moment', '2024-03-01', { offsetDays: -1 }, '2024-02-29T00:00:00.000Z'],
    ['texts', 'fire; first aid ;;', {}, '["fire","first aid"]'],
    ['texts', 'fire, first aid', { separator: ',' }, '["fire","first aid"]'],
    ['texts', 'a||b', { separator: '||' }, '["a","b"]'],
    ['texts', ';', {}, '[]'],
    ['numbers', '1,5;2', { decimal: ',' }, '[1.5,2]'],
    ['flags', 'yes;no', {}, '[true,false]'],
    ['days', '29/02/2024;01/03/2024', { format: 'dd/MM/yyyy' }, '["2024-02-29","2024-03-01"]'],
  ] as const)('%s of %j with %j', (property, cell, rule, expected) => {
    expect(read(property, cell, rule)).toMatchObject({ identityId: 'E1', fields: { [`.${property}`]: expected } })
  })

  test('as a moment in the time zone of the source, if the time has no offset', () => {
    const format = 'yyyy-MM-dd HH:mm'

    expect(read('moment', '2024-07-01 08:00', { format }, 'Europe/Berlin')).toMatchObject({
      fields: { '.moment': '2024-07-01T06:00:00.000Z' },
    })
    expect(read('moment', '2024-07-01', {}, 'Europe/Berlin')).toMatchObject({
      fields: { '.moment': '2024-07-01T00:00:00.000Z' },
    })
  })
})

/** For JSON: everything but the cell of a reject, which is the one member that quotes it. */
const exceptCell = (name: string, value: unknown) => (name === 'cell' ? undefined : value)

describe('a cell that cannot be read costs its field', () => {
  test.each([
    ['number', '4711x', {}, 'the cell holds no number (with "." before its part)'],
    ['number', '12,34', {}, 'the cell holds no number (with "." before its part)'],
    ['number', '1.234,5', {}, 'the cell holds no number'],
    ['number', '1e5', {}, 'the cell holds no number'],
    ['number', 'NaN', {}, 'the cell holds no number'],
    ['number', '9007199254740993', {}, 'the cell holds a number that is too large'],
    ['whole', '47.11', {}, 'the cell holds no whole number'],
    ['flag', 'perhaps', {}, 'the cell holds neither yes nor no'],
    ['day', '2023-02-29', {}, 'is not a date (yyyy-MM-dd)'],
    ['moment', '4711', {}, 'is not a date (yyyy-MM-dd)'],
    ['text', 'a\u0007b', {}, 'the cell holds a control character'],
    ['text', 'a\ud800', {}, 'half of a character'],
    ['numbers', '1;4711x', {}, 'the cell holds no number'],
    ['flags', 'yes;perhaps', {}, 'the cell holds neither yes nor no'],
  ] as const)('%s of %j', (property, cell, rule, reason) => {
    const mapped = map({
      record: { [property]: { column: 'cell', ...rule }, ...(property !== 'text' && { text: { column: 'other' } }) },
      cells: { cell, other: 'Ana' },
    })

    expect(mapped).toMatchObject({
      fields: property === 'text' ? {} : { '.text': 'Ana' },
      badCells: [{ column: 'cell', field: `.${property}`, cellOnly: true, reason: expect.stringContaining(reason) }],
    })
    expect(mapped).not.toHaveProperty(['fields', `.${property}`])
    expect(JSON.stringify(mapped, exceptCell)).not.toMatch(/4711|perhaps|12,34/)
  })

  test('or its row, if the mapping is configured so', () => {
    const record = { number: { column: 'cell' } }

    const mapped = map({ record, cells: { cell: 'x' }, rules: { onBadCell: 'rejectRow' } })

    expect(mapped).toMatchObject({ column: 'cell', cellOnly: false, identityId: 'E1' })
  })
})

test('an unreadable date is recognised by the stored text, whatever its reason advises', () => {
  const mapped = map({ record: { day: { column: 'day' } }, cells: { day: '31.10.2026' } })

  const stored = fingerprint('day', 'what the cell holds is not a date (yyyy-MM-dd)', ['E1', '31.10.2026'])
  expect(mapped).toHaveProperty('badCells.0.fingerprint', stored)
})

describe('a map', () => {
  test.each([
    ['text', 'hq', { HQ: 'Berlin', '*': 'elsewhere' }, 'Berlin'],
    ['text', 'Rome', { HQ: 'Berlin', '*': 'elsewhere' }, 'elsewhere'],
    ['text', 'none', { None: null }, null],
    ['text', '', { '': 'nobody' }, 'nobody'],
    ['text', '', { '*': 'elsewhere' }, null],
    ['number', 'full', { full: 1, half: '0.50' }, '1'],
    ['number', 'half', { full: 1, half: '0.50' }, '0.5'],
    ['whole', 'senior', { senior: 3 }, '3'],
    ['flag', 'Returned', { returned: true, open: 'false' }, true],
    ['flag', 'OPEN', { returned: true, open: 'false' }, false],
    ['day', 'always', { always: '1999-12-31' }, '1999-12-31'],
    ['texts', 'f;x;a', { f: 'fire', a: 'first aid', x: null }, '["fire","first aid"]'],
    ['numbers', 'a;b', { a: 1, b: '2' }, '[1,2]'],
    ['flags', 'a;b', { a: true, b: false }, '[true,false]'],
  ] as const)('gives %s of %j by %j', (property, cell, values, expected) => {
    expect(read(property, cell, { map: values })).toMatchObject({ fields: { [`.${property}`]: expected } })
  })

  test('refuses a value that it does not list, without repeating it', () => {
    expect(read('text', '4711', { map: { HQ: 'Berlin', Lab: 'Rome' } })).toMatchObject({
      badCells: [{ reason: 'the cell holds a value that the mapping does not list; listed are HQ, Lab' }],
    })
    expect(read('texts', 'HQ;4711', { map: { HQ: 'Berlin' } })).toMatchObject({
      badCells: [{ reason: expect.stringContaining('does not list') }],
    })
  })

  test.each([
    ['flag', { yes: 'yes' }, 'true or false'],
    ['flag', { yes: 1 }, 'true or false'],
    ['number', { full: 'one' }, 'a number'],
    ['number', { full: '' }, 'a number'],
    ['number', { full: true }, 'a number'],
    ['whole', { full: 1.5 }, 'a whole number'],
    ['numbers', { full: 'one' }, 'a number'],
  ] as const)('of %s to what it cannot hold is refused: %j', (property, values, expected) => {
    const result = mappingOf({ record: { [property]: { column: 'cell', map: values } } })

    expect(refusals(result)).toContain(`the schema wants ${expected} here`)
    expect(refusals(result)).toContain(`"map","${Object.keys(values)[0]}"`)
  })
})

describe('a blank cell', () => {
  test.each([
    ['keep', { fields: {} }],
    ['clear', { fields: { '.text': null } }],
    ['reject', { fields: {}, badCells: [{ reason: 'the cell is blank' }], tooLittleToJoin: 'cell: the cell is blank' }],
  ] as const)('with onBlank: %s', (onBlank, expected) => {
    expect(read('text', '  ', { onBlank })).toMatchObject(expected)
    expect(read('text', 'N/A', { onBlank, blankWhen: ['n/a'] })).toMatchObject(expected)
  })

  test('of a list does not become an empty list', () => {
    expect(read('texts', '')).toMatchObject({ fields: { '.texts': null } })
  })

  test('that keeps the known value does not violate the schema', () => {
    const of = { ...schema, required: ['text'] }
    const record = { text: { column: 'cell', onBlank: 'keep' } }

    expect(map({ record, cells: { cell: '' }, of })).toMatchObject({ fields: {} })
    expect(map({ record: { text: { column: 'cell' } }, cells: { cell: '' }, of })).toMatchObject({
      column: 'cell',
      reason: "the schema says of text: must have required property 'text'",
    })
  })
})

describe('a row that violates the schema', () => {
  const of = {
    properties: { text: { type: 'string', maxLength: 3 }, laptop: { properties: { back: { type: 'boolean' } } } },
  }
  const record = { text: { column: 'cell' }, 'laptop.back': { column: 'laptop' } }
  const cells = { cell: 'secret', laptop: 'yes' }
  const reason = 'the schema says of text: must NOT have more than 3 characters'

  test('is rejected with its column and the reason', () => {
    const mapped = map({ record, cells, of })

    expect(mapped).toMatchObject({
      line: 41,
      column: 'cell',
      field: '.text',
      identityId: 'E1',
      cellOnly: false,
      reason,
    })
    expect(JSON.stringify(mapped, exceptCell)).not.toContain('secret')
  })

  test('has no column if the whole record violates it', () => {
    const mapped = map({ record, cells: { cell: 'ok', laptop: 'yes' }, of: { ...of, maxProperties: 2 } })

    expect(mapped).toMatchObject({ column: null, reason: expect.stringContaining('the record') })
  })

  test('and states a departure is not rejected', () => {
    const status = { column: 'status', leftWhen: ['left'], employedWhen: ['here'] }

    const mapped = map({ record, cells: { ...cells, status: 'left' }, of, rules: { status } })

    expect(mapped).toMatchObject({ identityId: 'E1', statesDeparture: true })
  })

  test('and has a leaving date states it, and the known record stays', () => {
    const fields = { separatedAt: { column: 'end' } }

    const mapped = map({ record, cells: { ...cells, end: '2025-06-30' }, of, fields })

    expect(mapped).toMatchObject({
      identityId: 'E1',
      leavingDate: '2025-06-30',
      fields: {},
      badCells: [{ column: 'cell', cellOnly: true, reason }],
      tooLittleToJoin: reason,
    })
    expect(mapped).toHaveProperty('fields', {})
  })

  test('may be about a leaver if its leaving date or status is unreadable, or if the whole row is rejected', () => {
    const fields = { separatedAt: { column: 'end' } }

    const unread = map({ record, cells: { ...cells, end: 'soon' }, of, fields })
    const whole = map({ record, cells: { ...cells, end: '2025-06-30' }, of, fields, rules: { onBadCell: 'rejectRow' } })

    expect(unread).toMatchObject({ column: 'cell', cellOnly: false, mayLeave: true })
    expect(whole).toMatchObject({ column: 'cell', cellOnly: false, mayLeave: true })
  })

  test('by a missing property is none beside an unreadable cell', () => {
    const strict = { ...schema, required: ['number'] }

    const mapped = map({ record: { number: { column: 'cell' } }, cells: { cell: 'x' }, of: strict })

    expect(mapped).toMatchObject({ fields: {}, badCells: [{ field: '.number' }] })
  })
})

describe('the text of a property', () => {
  test('may be the result of an expression, or made of several columns', () => {
    const record = { text: { template: '{First} {Last}' }, whole: { expression: '$number(A) * 2' } }

    const mapped = map({ record, cells: { First: 'Ana', Last: 'Li' }, derived: ['84'] })

    expect(mapped).toMatchObject({ fields: { '.text': 'Ana Li', '.whole': '84' } })
    expect(expressionsOf(mappingOf({ record }).data ?? Mapping.parse({ fields: { identityId: 'id' } }))).toEqual([
      { path: ['record', 'whole', 'expression'], text: '$number(A) * 2', optional: false },
    ])
  })

  test('is named after the property if there is no column', () => {
    const bad = map({ record: { whole: { expression: 'A' } }, derived: ['x'] })
    const compiled = compileMapping(
      Mapping.parse({
        fields: { identityId: 'id' },
        record: mappingOf({ record: { text: { column: 'Name' } } }).data?.record,
      }),
      ['id'],
    )

    expect(bad).toMatchObject({ badCells: [{ column: 'the expression of whole' }] })
    expect(compiled).toEqual({ ok: false, missing: ['column "Name" (text) is not in the header'] })
  })
})

describe('the name of a property', () => {
  const names = (...all: readonly string[]) =>
    refusals(MappingPatch.safeParse({ record: Object.fromEntries(all.map((name) => [name, 'Column'])) }))

  test.each(['name', 'laptop.returned', 'Kostenstelle 2', 'a/b', 'constructor'])('may be %j', (name) => {
    expect(names(name)).toBe('[]')
  })

  test.each(['', '.a', 'a.', 'a..b', ' a', 'a. b'])('is invalid: %j', (name) => {
    expect(names(name)).toContain('expected the name of a property, such as laptop.returned')
  })

  test.each(['id', 'id.number'])('is not that of the key: %s', (name) => {
    expect(names(name)).toContain('is the key of a record: it comes from fields.identityId')
  })

  test('is not one that no schema can hold', () => {
    expect(names('a.__proto__')).toContain('is a name that no schema can hold')
  })

  test('does not hold another one', () => {
    expect(names('laptop', 'laptop.returned')).toContain('cannot hold a value and \\"laptop.returned\\" too')
    expect(names('laptop', 'laptops.returned')).toBe('[]')
  })
})

test('a connection overrides the properties of a preset', () => {
  const preset = MappingPatch.parse({
    record: { name: 'Name', room: { column: 'Room', lowercase: true }, floor: 'Floor' },
  })
  const own = MappingPatch.parse({ record: { room: { onBlank: 'keep' }, floor: null } })

  expect(mergePreset(preset, own).record).toEqual({
    name: 'Name',
    room: { column: 'Room', lowercase: true, onBlank: 'keep' },
  })
})
