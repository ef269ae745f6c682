import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  collectHeaders,
  flattenRecord,
  type JsonValue,
  pointer,
  readJson,
  rowReader,
} from '../../../src/connectors/json/cells.ts'
import { JsonPointer } from '../../../src/connectors/json-pointer.ts'

const origin = { file: 'people page 1', line: 1 }

function read(text: string): JsonValue {
  return readJson(Buffer.from(text), { name: 'people' })
}

function cellsOf(text: string): Record<string, string> {
  return Object.fromEntries(flattenRecord(read(text)).cells)
}

function failureOf(act: () => unknown): unknown {
  try {
    act()
  } catch (error) {
    return error
  }
  throw new Error('nothing was thrown')
}

describe('reading JSON', () => {
  test('keeps every number as the text that was sent', () => {
    const value = read('{"id":12345678901234567890,"rate":1.10,"code":5E9934,"zero":-0,"list":[1,2.0]}')

    expect(value).toEqual({
      id: '12345678901234567890',
      rate: '1.10',
      code: '5E9934',
      zero: '-0',
      list: ['1', '2.0'],
    })
  })

  test('agrees with the usual parser about everything but numbers', () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), (text) => {
        const usual = JSON.parse(text, (_, value) => (typeof value === 'number' ? String(value) : value))

        expect(read(text)).toEqual(usual)
      }),
      { numRuns: 300 },
    )
  })

  test('gives a value or refuses, whatever the bytes are', () => {
    const bytes = fc.oneof(
      fc.uint8Array({ maxLength: 200 }),
      fc.stringMatching(/^[\]{}[",:\\0-9a-u \n-]{0,80}$/).map((text) => Buffer.from(text)),
      fc.json().map((text) => Buffer.from(text.slice(0, -1))),
    )

    fc.assert(
      fc.property(bytes, (sent) => {
        try {
          readJson(sent, { name: 'people' })
        } catch (error) {
          expect(error).toMatchObject({ code: 'source_unreadable' })
        }
      }),
      { numRuns: 1000 },
    )
  })

  test.each([
    ['a byte that UTF-8 does not know', Buffer.from([0x22, 0xff, 0x22]), 'people is not encoded in UTF-8'],
    ['nothing', Buffer.from(''), 'people is not valid JSON: it ends too soon'],
    ['a cut answer', Buffer.from('{"people":[{"id":"7"'), 'people is not valid JSON'],
    ['a cut string', Buffer.from('["Ana Secret'), 'people is not valid JSON at character 13'],
    ['something behind the end', Buffer.from('[] Ana Secret'), 'people is not valid JSON at character 4'],
    ['a word', Buffer.from('{"id": Secret}'), 'people is not valid JSON'],
    ['the same member twice', Buffer.from('{"id":"1","id":"2"}'), 'the same member twice, at character 11'],
    ['the same member spelt differently', Buffer.from('{"id":"1" , "\\u0069d" : "2"}'), 'the same member twice'],
    ['65 levels', Buffer.from('['.repeat(65) + ']'.repeat(65)), 'people is nested deeper than 64 levels'],
    ['a million levels', Buffer.from('{"a":'.repeat(1_000_000)), 'people is nested deeper than 64 levels'],
    ['endless values', Buffer.from(`[${'[],'.repeat(5_000_000)}[]]`), 'people holds more than 5000000 values'],
  ])('refuses %s, and quotes nothing of it', (_case, bytes, expected) => {
    const failure = failureOf(() => readJson(bytes, { name: 'people' }))

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringContaining(expected) })
    expect(failure).not.toHaveProperty('cause')
    expect(String(failure)).not.toMatch(/Ana|Secret/)
  })

  test.each([
    ['64 levels', '['.repeat(64) + ']'.repeat(64)],
    ['brackets inside text', `["${'['.repeat(100)}"]`],
    ['an escaped quote before brackets', `["\\"${'['.repeat(100)}\\\\"]`],
    ['equal names in different objects', '[{"id":1},{"id":{"id":2}}]'],
    ['values that are equal to a name', '{"id":"id","other":"id"}'],
    ['a byte order mark', '\uFEFF[]'],
  ])('takes %s', (_case, text) => {
    expect(() => read(text)).not.toThrow()
  })

  test('a member named __proto__ is a member and changes no object', () => {
    const value = read('{"__proto__":{"admin":"yes"},"constructor":{"prototype":1}}')

    expect(pointer(value, '/admin')).toBeUndefined()
    expect(pointer(value, '/__proto__/admin')).toBe('yes')
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype)
    expect(({} as { admin?: string }).admin).toBeUndefined()
  })
})

describe('a JSON pointer', () => {
  const value = read('{"data":{"items":[{"id":1},{"id":2}],"a/b":"slash","m~n":"tilde","":"empty"}}')

  test.each([
    ['/data/items/1/id', '2'],
    ['/data/a~1b', 'slash'],
    ['/data/m~0n', 'tilde'],
    ['/data/', 'empty'],
    ['/data/items/2', undefined],
    ['/data/items/01', undefined],
    ['/data/items/-', undefined],
    ['/data/items/length', undefined],
    ['/data/toString', undefined],
    ['/data/__proto__', undefined],
    ['/data/a~1b/0', undefined],
    ['/nowhere/at/all', undefined],
  ])('%s leads to %s', (path, expected) => {
    expect(pointer(value, path)).toEqual(expected)
  })

  test('of nothing is the whole', () => {
    expect(pointer(value, '')).toBe(value)
  })

  test.each([
    ['', true],
    ['/a', true],
    ['/a~0~1', true],
    ['a', false],
    ['/a~2', false],
    ['#/a', false],
  ])('written as "%s" is accepted: %s', (path, expected) => {
    expect(JsonPointer.safeParse(path).success).toBe(expected)
  })
})

describe('a record as cells', () => {
  test('has one for every value, in the order in which they stand', () => {
    const record = flattenRecord(
      read('{"id":7,"name":{"first":"Ana","last":null},"emails":[{"value":"a@x"}],"active":true,"tags":[]}'),
    )

    expect([...record.cells]).toEqual([
      ['id', '7'],
      ['name.first', 'Ana'],
      ['name.last', ''],
      ['emails.0.value', 'a@x'],
      ['active', 'true'],
    ])
  })

  test('keeps names that other languages know, as ordinary columns', () => {
    const cells = cellsOf('{"__proto__":"a","constructor":"b","toString":{"__proto__":"c"}}')

    expect(Object.entries(cells)).toEqual([
      ['__proto__', 'a'],
      ['constructor', 'b'],
      ['toString.__proto__', 'c'],
    ])
  })

  test.each([
    ['a text', '"Ana"', 'the record is no object'],
    ['a list', '[1]', 'the record is no object'],
    ['null', 'null', 'the record is no object'],
    ['two ways to one path', '{"a.b":1,"a":{"b":2}}', 'two values of the record have the same path'],
    ['10,001 values', `{"a":[${'1,'.repeat(10_000)}1]}`, 'the record has more than 10000 values'],
    ['10,001 empty lists', `{"a":[${'[],'.repeat(10_000)}[]]}`, 'the record has more than 10000 values'],
    ['more than 1 MiB', JSON.stringify({ a: 'x'.repeat(1024 * 1024) }), 'the record is longer than 1 MiB'],
    ['a long path', JSON.stringify({ ['x'.repeat(257)]: 1 }), 'longer than 256 characters'],
    ['a path of many names', JSON.stringify({ [`x${'.x'.repeat(64)}`]: 1 }), 'more than 64 names'],
    ['a name with NUL', '{"a\\u0000":1}', 'a name in the record holds a NUL character'],
    ['several damaged cells', '{"a":"\\u0000","b":"\\ud800"}', 'several cells hold text with a NUL character'],
  ])('is refused as a whole for %s', (_case, text, expected) => {
    const record = flattenRecord(read(text))

    expect(record.fault).toEqual({ path: null, reason: expect.stringContaining(expected) })
    expect(record.cells.size).toBe(0)
  })

  test.each(['\\u0000', '\\ud800', 'a\\udc00b'])('has a fault in the one cell that holds %s', (text) => {
    const record = flattenRecord(read(`{"id":"7","note":"${text}"}`))

    expect(record.fault).toMatchObject({ path: 'note' })
    expect(record.cells.get('id')).toBe('7')
  })
})

describe('records as rows', () => {
  function rowsOf(...texts: readonly string[]) {
    const records = texts.map((text) => flattenRecord(read(text)))
    const paths = new Set<string>()
    for (const record of records) collectHeaders(paths, record, 'people')
    const headers = [...paths]
    const toRow = rowReader(headers)
    return { headers, rows: records.map((record) => toRow(record, origin)) }
  }

  test('have all their paths as headers, and undefined cells for missing members', () => {
    const { headers, rows } = rowsOf('{"id":"1","first":"Ana"}', '{"id":"2","last":"Bo"}')

    expect(headers).toEqual(['id', 'first', 'last'])
    expect(rows.map(({ values }) => values)).toEqual([
      ['1', 'Ana', undefined],
      ['2', undefined, 'Bo'],
    ])
  })

  test('are blank below null and behind the end of a list', () => {
    const { headers, rows } = rowsOf(
      '{"id":"1","manager":{"id":"9"},"emails":[{"value":"a"},{"value":"b"}]}',
      '{"id":"2","manager":null,"emails":[{"value":"c"}]}',
      '{"id":"3","emails":[]}',
    )

    const cells = rows.map(({ values }) => Object.fromEntries(headers.map((path, index) => [path, values[index]])))
    expect(cells[1]).toMatchObject({ 'manager.id': '', 'emails.0.value': 'c', 'emails.1.value': '' })
    expect(cells[2]).toMatchObject({ 'manager.id': undefined, 'emails.0.value': '', 'emails.1.value': '' })
  })

  test('distinguish an object or a list in place of a text from a missing member', () => {
    const { headers, rows } = rowsOf(
      '{"id":"1","title":"Lead","tags":"a"}',
      '{"id":"2","title":{"en":"Lead"},"tags":["b"]}',
      '{"id":"3","title":{},"tags":[]}',
      '{"id":"4"}',
    )

    expect(rows.map(({ nonTextColumns: groups = [] }) => groups.map((index) => headers[index]))).toEqual([
      ['title.en', 'tags.0'],
      ['title', 'tags'],
      [],
      [],
    ])
    expect(rows.map(({ values }) => values[1])).toEqual(['Lead', undefined, undefined, undefined])
  })

  test('distinguish a member elsewhere from a missing one', () => {
    const { headers, rows } = rowsOf(
      '{"id":"1","job":{"end":"2026-11-30"},"jobs":[{"end":"2026-11-30"}]}',
      '{"id":"2","job":[{"end":"2026-11-30"}],"jobs":{"end":"2026-11-30"}}',
      '{"id":"3","job":"until 2026-11-30","jobs":"until 2026-11-30"}',
      '{"id":"4","job":{"title":"Lead"},"jobs":[{"title":"Lead"}]}',
      '{"id":"5","job":{},"jobs":[]}',
    )

    const elsewhere = rows.map(({ nonTextColumns: groups = [] }) => groups.flatMap((index) => headers[index] ?? []))

    expect(elsewhere.map((paths) => paths.filter((path) => ['job.end', 'jobs.0.end'].includes(path)))).toEqual([
      [],
      ['job.end', 'jobs.0.end'],
      ['job.end', 'jobs.0.end'],
      [],
      [],
    ])
  })

  test('carry the fault of a record, with the number of its column', () => {
    const { rows } = rowsOf('{"id":"1","note":"\\u0000"}', '"no object"')

    expect(rows.map(({ fault }) => fault)).toEqual([
      { column: 1, reason: expect.any(String) },
      { column: null, reason: 'the record is no object' },
    ])
  })

  test('are refused when together they have more than 10,000 paths', () => {
    const headers = new Set<string>()
    const record = (from: number) =>
      flattenRecord(Object.fromEntries(Array.from({ length: 6000 }, (_, index) => [`p${from + index}`, 'x'])))
    collectHeaders(headers, record(0), 'people')

    const failure = failureOf(() => collectHeaders(headers, record(6000), 'people'))

    expect(failure).toMatchObject({
      code: 'source_unreadable',
      message: expect.stringContaining('people: the records have more than 10000 different paths'),
    })
  })

  test('read back equal for any flat record', () => {
    const records = fc.array(fc.dictionary(fc.stringMatching(/^[a-z]{1,3}$/), fc.string({ unit: 'grapheme' })))

    fc.assert(
      fc.property(records, (people) => {
        const { headers, rows } = rowsOf(...people.map((person) => JSON.stringify(person)))

        const back = rows.map(({ values }) =>
          Object.fromEntries(
            headers.map((path, index) => [path, values[index]]).filter(([, cell]) => cell !== undefined),
          ),
        )
        expect(back).toEqual(people.map((person) => ({ ...person })))
      }),
      { numRuns: 200 },
    )
  })
})
