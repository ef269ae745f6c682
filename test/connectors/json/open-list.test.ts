import { appendFile } from 'node:fs/promises'
import { gzipSync } from 'node:zlib'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type JsonValue, pointer, readJson } from '../../../src/connectors/json/cells.ts'
import { readList } from '../../../src/connectors/json/read-list.ts'
import { Failure } from '../../../src/errors.ts'
import { allRows, type Format, openFile, type Secrets } from '../../helpers/sources/csv.ts'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { encrypted, keyOwner } from '../../helpers/sources/openpgp.ts'
import { zipOf } from '../../helpers/sources/zip.ts'

/** Reads a JSON file to its end. */
async function readPeople(content: string | Uint8Array, settings: Format = {}, secrets: Secrets = {}) {
  await using folder = await exportFolder()
  await folder.write('people.json', content)
  const opened = await openFile(folder, 'people.json', { format: 'json', ...settings }, { secrets })
  const rows = await allRows(opened)
  const { headers, end, missingIsBlank } = opened
  return { headers, end, missingIsBlank, rows, size: opened.cellBytes(), textBytes: opened.textBytes() }
}

async function refusalOf(content: string | Uint8Array, settings: Format = {}): Promise<string> {
  const error = await readPeople(content, settings).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  if (error instanceof Failure && error.code === 'source_unreadable') return error.message
  throw new Error(`expected a refusal of the file, got ${String(error)}`, { cause: error })
}

const two = '{"meta":{"made":"today"},"data":{"items":[{"id":"7","name":"Ana"},{"id":"8","end":null}],"total":2}}'

describe('a JSON file', () => {
  test('has a row for each record, with what any of them states', async () => {
    const { headers, rows, end, missingIsBlank, size } = await readPeople(two, { records: '/data/items' })

    expect(headers).toEqual(['id', 'name', 'end'])
    expect(rows).toEqual([
      { values: ['7', 'Ana', undefined], origin: { file: 'people.json', line: 1 } },
      { values: ['8', undefined, ''], origin: { file: 'people.json', line: 2 } },
    ])
    expect(end).toEqual({
      records: 2,
      end: 'the JSON text is complete: /data/total counts 2 records, and 2 were read',
    })
    expect(missingIsBlank).toBe(true)
    expect(size).toBe('7Ana8'.length)
  })

  test('may be nothing but the list, with digits as they are written', async () => {
    const { rows, end } = await readPeople('\uFEFF[{"id":9007199254740993,"rate":1.10,"mail":[{"value":"a@b.c"}]}]\n')

    expect(rows.map(({ values }) => values)).toEqual([['9007199254740993', '1.10', 'a@b.c']])
    expect(end?.end).toBe('the JSON text is complete: nothing in it says that there is more')
  })

  test('may be empty, and then no record lacks a member', async () => {
    expect(await readPeople('[ ]')).toMatchObject({ headers: [], rows: [], missingIsBlank: false, end: { records: 0 } })
    expect(await readPeople('{"a/b":[[],[\n]]}', { records: '/a~1b/1' })).toMatchObject({ rows: [] })
  })

  test('may count something else beside its own total', async () => {
    const text = '{"total":2,"totalActive":1,"data":[{"id":1},{"id":2}]}'

    expect(await readPeople(text, { records: '/data' })).toMatchObject({ end: { records: 2 } })
  })

  const three = '[{"id":1},{"id":2},{"id":3}]'

  test.each([
    ['other groups of its people', '"totalErrors":0,"totalActive":2,"totalFTE":2,"byCountry":{"DE":{"total":1}}'],
    ['another list', '"departments":{"total":1,"items":[{"id":1}]}'],
    ['times and parts of its own', '"timezone":{"offset":60},"period":{"previous":"2026-10"},"export":{"page":4}'],
    [
      'the last of the pages that it was joined from',
      '"total":3,"previous":"https://hr.example/2","next":null,"page":3',
    ],
  ])('is whole although it states numbers and places of %s', async (_, stated) => {
    const { end } = await readPeople(`{${stated},"people":${three}}`, { records: '/people' })

    expect(end).toMatchObject({ records: 3 })
  })

  test('may say that it is the only page', async () => {
    const stated = '"page":1,"offset":0,"startIndex":1,"prev":null,"hasPrevious":false,"first":true,"hasMore":false'

    expect(await readPeople(`{${stated},"data":[{"id":1}]}`, { records: '/data' })).toMatchObject({
      end: { records: 1 },
    })
  })

  test('of more people than a slice holds is read in slices', async () => {
    const people = Array.from({ length: 2500 }, (_, index) => ({ id: `P${index}`, name: `Ana ${index}` }))
    await using folder = await exportFolder()
    await folder.write('people.json', JSON.stringify({ people }))
    const opened = await openFile(folder, 'people.json', { format: 'json', records: '/people' })
    const slices = await Array.fromAsync(opened.rows)

    expect(Math.max(...slices.map(({ length }) => length))).toBeLessThanOrEqual(1000)
    expect(slices.flat().map(({ values }) => values)).toEqual(people.map(({ id, name }) => [id, name]))
    expect(slices.flat().at(-1)?.origin).toEqual({ file: 'people.json', line: 2500 })
    expect(await allRows(opened)).toEqual(slices.flat())
  })

  test('may be packed or encrypted', async () => {
    const owner = await keyOwner()
    const settings = { records: '/data/items' }
    const expected = (await readPeople(two, settings)).rows
    const decrypt = { privateKey: owner.privateKey }
    const secrets = { 'decrypt.privateKey': owner.privateKey }

    expect((await readPeople(gzipSync(two), settings)).rows).toEqual(expected)
    expect(await readPeople(await zipOf({ 'a.json': two }), settings)).toMatchObject({ textBytes: two.length })
    expect((await readPeople(await encrypted(two, { to: owner }), { ...settings, decrypt }, secrets)).rows).toEqual(
      expected,
    )
  })

  test('has a row without cells for an item that is no record', async () => {
    const { rows } = await readPeople('[{"id":1},"Ana",null]')

    expect(rows.slice(1).map(({ fault }) => fault)).toEqual([
      { column: null, reason: 'the record is no object' },
      { column: null, reason: 'the record is no object' },
    ])
  })
})

describe('a file is refused', () => {
  test.for<[string, string | Uint8Array, Format, string]>([
    ['without a list at records', two, { records: '/items' }, 'expected a list of records at /items, found nothing'],
    [
      'whose list is a single object',
      '{"person":{"id":1}}',
      { records: '/person' },
      'expected a list of records at /person, found a single object: let records point to the list in it',
    ],
    ['that is an object itself', two, {}, 'expected a list of records as the whole, found a single object'],
    ['with a text there', two, { records: '/meta/made' }, 'at /meta/made, found a single value: check records'],
    [
      'that ends within its list',
      two.slice(0, 70),
      { records: '/data/items' },
      'people.json ends within its list of records: it was cut off',
    ],
    [
      'that ends after its list',
      two.slice(0, -2),
      { records: '/data/items' },
      'people.json, without its records, is not valid JSON at character 54: it was cut off, or is something else',
    ],
    ['with more behind its end', '[{"id":1}] {"id":2}', {}, 'people.json, without its records, is not valid JSON'],
    ['with two lists', '{"a":[{"id":1}],"a":[]}', { records: '/a' }, 'people.json has its list of records twice'],
    ['with a list behind its end', '[{"id":1}] [{"id":2}]', {}, 'people.json has its list of records twice'],
    [
      'with a long name in escapes on the way to its list',
      `{"${'\\u0061'.repeat(171)}":[{"id":1}]}`,
      { records: `/${'a'.repeat(171)}` },
      'people.json: its list of records was not recognised: have shorter names on the way to it',
    ],
    ['of a form feed', '[\f]', {}, 'people.json: record 1 is not valid JSON'],
    ['of a lone byte', Buffer.from('[\xa0]', 'latin1'), {}, 'record 1 is not encoded in UTF-8'],
    ['of many empty lists', '[]'.repeat(500_000), {}, 'people.json has its list of records twice'],
    [
      'with a member twice in a record',
      '[{"id":1},{"id":2,"id":3}]',
      {},
      'people.json: record 2: an object names the same member twice, at character 9',
    ],
    [
      'with a broken record',
      '[{"id":1},{"name":Ana}]',
      {},
      'people.json: record 2 is not valid JSON: it was cut off, or is something else',
    ],
    ['with a bracket of the wrong kind', '[{"id":1}}]', {}, 'people.json: record 1 is not valid JSON at character 9'],
    ['with a comma too many', '[{"id":1},]', {}, 'people.json: record 2 is not valid JSON: it ends too soon'],
    [
      'with lines of records',
      '{"id":1}\r\n\r\n {"id":2}\n',
      { records: '/people' },
      'people.json has one record per line (JSON Lines): have it exported as one list',
    ],
    ['that is a CSV', 'id,name\n7,Ana\n', {}, 'people.json is no JSON: check format, or have it exported as JSON'],
    ['that is XML', '<?xml version="1.0"?><a/>', {}, 'people.json is XML: have it exported as JSON'],
    ['that is a page', '<html><body>', {}, 'people.json is a web page (HTML) that begins with "<html><body>"'],
    ['that is a PDF', '%PDF-1.7', {}, 'people.json is a PDF'],
    ['in UTF-16', Buffer.from('\uFEFF[]', 'utf16le'), {}, 'people.json is not encoded in UTF-8'],
    ['in Latin-1', Buffer.from('[{"name":"M\xfcller"}]', 'latin1'), {}, 'record 1 is not encoded in UTF-8'],
    ['of blanks', ' \n', {}, 'people.json is no JSON'],
    [
      'that was saved from a page of a list',
      '{"total":3,"data":[{"id":1}]}',
      { records: '/data' },
      'people.json: /total counts 3 records, and 1 was read, so this is not the whole list: have all people exported into one file',
    ],
    [
      'that counts more of something',
      '{"totalLocations":3,"data":[{"id":1}]}',
      { records: '/data' },
      'exported into one file; if it is not about this list, write ignoredStatements: ["/totalLocations"]',
    ],
    [
      'with records in another item of a list',
      '{"responses":[{"body":{"value":[{"id":1}]}},{"body":{"value":[{"id":2}]}}]}',
      { records: '/responses/0/body/value' },
      '/responses/1/body/value holds records too, so this is not the whole list: have all people exported into one list; if it is not',
    ],
    [
      'whose total is in another item of a list',
      '[{"people":[{"id":1}]},{"paging":{"total":900}}]',
      { records: '/0/people' },
      '/1/paging/total counts 900 records, and 1 was read',
    ],
    [
      'with more records than it counts',
      '{"total":2,"data":[{"id":1},{"id":2},{"id":3}]}',
      { records: '/data' },
      '/total counts 2 records, and 3 were read, so it is not the total of this list: have the file exported again; if it is not about',
    ],
    [
      'that names a next page',
      '{"next":"https://hr.example/2","data":[{"id":1}]}',
      { records: '/data' },
      '/next names a next page, so this is not the whole list',
    ],
    ...[
      '"page":5',
      '"meta":{"startSequence":101,"completeIndicator":true}',
      '"limit_start":400',
      '"_meta":{"page_info":{"pageOffset":400}}',
      '"offset":400',
      '"links":[{"rel":"prev","href":"https://hr.example/1"}]',
      '"totalActive":1,"previous":"https://hr.example/1"',
      '"first":false',
    ].map((stated): [string, string, Format, string] => [
      `that was saved from the last page of a list with ${stated}`,
      `{"hasMore":false,${stated},"data":[{"id":1}]}`,
      { records: '/data' },
      'says that a page comes before this one, so this is not the whole list',
    ]),
    [
      'that names a next page beside records in an item of a list',
      '{"responses":[{"body":{"@odata.nextLink":"https://hr.example/2","value":[{"id":1}]}}]}',
      { records: '/responses/0/body/value' },
      '/responses/0/body/@odata.nextLink names a next page',
    ],
    [
      'of a list in a list with a total',
      '[{"total":900,"people":[{"id":1}]}]',
      { records: '/0/people' },
      '/0/total counts 900',
    ],
    [
      'with a total beside records far below',
      '{"Envelope":{"Body":{"Response":{"Result":{"Data":{"TotalCount":9,"Items":[{"id":1}]}}}}}}',
      { records: '/Envelope/Body/Response/Result/Data/Items' },
      '/Envelope/Body/Response/Result/Data/TotalCount counts 9',
    ],
    [
      'with a total in a group beside records far below',
      '{"Envelope":{"Body":{"Response":{"Result":{"Data":{"Page":{"TotalCount":9},"Items":[{"id":1}]}}}}}}',
      { records: '/Envelope/Body/Response/Result/Data/Items' },
      '/Envelope/Body/Response/Result/Data/Page/TotalCount counts 9',
    ],
    [
      'that names a previous page',
      '{"links":{"prev":"https://hr.example/1","next":null},"data":[{"id":1}]}',
      { records: '/data' },
      '/links/prev says that a page comes before this one',
    ],
    [
      'with fewer records than it counts, although nothing follows',
      '{"count":450,"hasMore":false,"data":[{"id":1}]}',
      { records: '/data' },
      '/count counts 450 records, and 1 was read',
    ],
    ['that unpacks to too much', gzipSync(two), { unpackedBytes: 50 }, 'unpacks to more than 50 bytes'],
    [
      'with a record of many MiB',
      `[{"id":1},"${'a'.repeat(17 * 1024 * 1024)}"]`,
      {},
      'people.json: a record is longer than 16 MiB: let records point to the list of people',
    ],
    [
      'with many MiB beside its list',
      `{"a":"${'a'.repeat(33 * 1024 * 1024)}","data":[]}`,
      { records: '/data' },
      'people.json holds more than 32 MiB outside its list of records: check records',
    ],
    ['that is nested deeply', `[${'['.repeat(100)}${']'.repeat(100)}]`, {}, 'is nested deeper than 64 levels'],
  ])('%s', async ([, content, settings, message]) => {
    expect(await refusalOf(content, settings)).toContain(message)
  })

  test('unless what it states is about something else', async () => {
    const text = '{"statistics":{"total":3},"data":[{"id":1}]}'

    expect(await refusalOf(text, { records: '/data' })).toContain('/statistics/total counts 3 records')
    expect(await readPeople(text, { records: '/data', ignoredStatements: ['/statistics'] })).toMatchObject({
      end: { records: 1 },
    })
  })

  test('unless its own total is ignored, which nobody is told to do and the run states', async () => {
    const settings = { records: '/data', ignoredStatements: ['/total'] }

    expect(await refusalOf('{"total":3,"data":[{"id":1}]}', { records: '/data' })).not.toContain('ignoredStatements')
    expect((await readPeople('{"total":3,"data":[{"id":1}]}', settings)).end?.end).toBe(
      'the JSON text is complete: nothing in it says that there is more; ignored: /total counts 3 records, and 1 was read',
    )
  })

  test('that changes between its columns and its rows', async () => {
    await using folder = await exportFolder()
    const path = await folder.write('people.json', two)
    const opened = await openFile(folder, 'people.json', { format: 'json', records: '/data/items' })
    await appendFile(path, '\n')

    await expect(allRows(opened)).rejects.toThrow('people.json changed while it was read')
  })
})

/** What reading a text in chunks of this size finds; null: it is refused. */
async function readInChunks(text: Buffer, records: string, size: number): Promise<readonly JsonValue[] | null> {
  async function* chunks() {
    for (let from = 0; from < text.length; from += size) yield text.subarray(from, from + size)
  }
  try {
    return (await Array.fromAsync(readList({ chunks: chunks(), name: 'people', records }))).flat()
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}

/** What the parser of whole texts finds there; null: it is no JSON, or has no list there. */
function readAtOnce(text: Buffer, records: string): readonly JsonValue[] | null {
  try {
    const list = pointer(readJson(text, { name: 'people' }), records)
    return Array.isArray(list) ? list : null
  } catch (error) {
    if (error instanceof Failure) return null
    throw error
  }
}

describe('a text that is read in pieces', () => {
  const texts = fc
    .record({ value: fc.jsonValue({ maxDepth: 4 }), list: fc.array(fc.jsonValue({ maxDepth: 3 })), space: fc.nat(2) })
    .map(({ value, list, space }) =>
      Buffer.from(JSON.stringify({ 'x"\\': value, é: [value, { list }], people: [1] }, null, space)),
    )
  const pointers = fc.constantFrom('/é/1/list', '/people', '/é', '/x"\\', '', '/é/0')
  const sizes = fc.constantFrom(1, 2, 3, 7, 64, 4096)

  test('has the records of the whole one', async () => {
    await fc.assert(
      fc.asyncProperty(texts, pointers, sizes, async (text, records, size) => {
        expect(await readInChunks(text, records, size)).toEqual(readAtOnce(text, records))
      }),
    )
  })

  test('is refused wherever it is cut, and as the whole one where a byte is changed', async () => {
    await fc.assert(
      fc.asyncProperty(texts, pointers, fc.nat(), fc.nat(127), async (text, records, at, byte) => {
        const changed = Buffer.from(text)
        changed[at % text.length] = byte

        expect(await readInChunks(text.subarray(0, at % text.length), records, 64)).toBeNull()
        expect(await readInChunks(changed, records, 64)).toEqual(readAtOnce(changed, records))
      }),
    )
  })
})
