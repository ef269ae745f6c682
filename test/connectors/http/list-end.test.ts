import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import {
  type Answer,
  csv,
  failureOf,
  type HttpSettings,
  json,
  openHttp,
  rowsOf,
  startHrServer,
} from '../../helpers/sources/hr-server.ts'

type Shape = readonly [shape: string, answer: Answer, settings: HttpSettings, said: string]

const two = [{ id: '1' }, { id: '2' }]

/** First pages as documented HR APIs answer them, of which each says in its own way that there are more. */
const firstPages: readonly Shape[] = [
  [
    'a total beside offset and limit',
    json({ data: two, page: { total_rows: 5, offset: 0 } }),
    { records: '/data' },
    '/page/total_rows counts 5 records, and 2 were read',
  ],
  [
    'a total of elements and of pages',
    json({ success: true, data: two, metadata: { total_elements: 5, total_pages: 3, current_page: 0 } }),
    { records: '/data' },
    '/metadata/total_elements counts 5 records, and 2 were read',
  ],
  [
    'a count of pages in a header',
    json(two, { 'x-total-pages': '3' }),
    {},
    'the header x-total-pages counts 3 pages, and 1 was read',
  ],
  [
    'a count of records in a header',
    json(two, { 'x-total-count': '5' }),
    {},
    'the header x-total-count counts 5 records, and 2 were read',
  ],
  [
    'a link to the next page',
    json(two, { link: '</v1/people?page=1>; rel="prev", </v1/people?page=3>; title="a, b"; rel="next last"' }),
    {},
    'the header link names a next page',
  ],
  [
    'a range of its content',
    json(two, { 'content-range': 'items 0-1/5' }),
    {},
    'the header content-range counts 5 records, and 2 were read',
  ],
  ['the number of the next page in a header', json(two, { 'x-next-page': '2' }), {}, 'the header x-next-page names'],
  [
    'a start index and results in total',
    json({ Resources: two, totalResults: 5, itemsPerPage: 2, startIndex: 1 }),
    { records: '/Resources' },
    '/totalResults counts 5 records, and 2 were read',
  ],
  ['a flag', json({ items: two, hasMore: true }), { records: '/items' }, '/hasMore says that there is more'],
  [
    'a flag beside a cursor',
    json({ data: two, meta: { has_next_page: true, end_cursor: 'b' } }),
    { records: '/data' },
    '/meta/has_next_page says that there is more',
  ],
  [
    'a mark of the last page',
    json({ content: two, last: false }),
    { records: '/content' },
    '/last says that there is more',
  ],
  ['an address', json({ d: { results: two, __next: '?s=2' } }), { records: '/d/results' }, '/d/__next names a next'],
  [
    'an address in OData',
    json({ value: two, '@odata.nextLink': '?s=2' }),
    { records: '/value' },
    '/@odata.nextLink names a next page',
  ],
  ['a token', json({ data: { results: two, next: 'abc' } }), { records: '/data/results' }, '/data/next names a next'],
  [
    'a list of links',
    json({
      items: two,
      links: [
        { rel: 'self', href: '/a' },
        { rel: 'next', href: '/b' },
      ],
    }),
    { records: '/items' },
    '/links/1 names a next page',
  ],
  [
    'as many records as were asked for',
    json({ workers: two }),
    { url: '?$top=2&$skip=0', records: '/workers' },
    'holds 2 records, as many as $top asks for',
  ],
  [
    'another member than the configured one',
    json({ items: two, links: { next: '?page=2' }, nxt: null }),
    { records: '/items', next: '/nxt' },
    '/links/next names a next page',
  ],
  [
    'a count for which the only page is too short',
    json({ items: two, count: 5 }),
    { records: '/items', next: '/next', pages: 'single' },
    '/count counts 5 records, and 2 were read',
  ],
]

describe('a first page never passes for the list', () => {
  test.each(firstPages)('where %s says that there is more', async (_shape, answer, { url = '', ...settings }, said) => {
    const { failure, left } = await failureOf(answer, settings, url)

    expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringContaining(said) })
    expect(left).toEqual([])
  })

  test('where the configured next page is missing, and nothing says that the list is at its end', async () => {
    const { failure } = await failureOf(json({ items: two }), { records: '/items', next: '/links/nxt' })

    expect(failure).toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(/holds nothing at \/links\/nxt.*pages: single/),
    })
  })

  test('where the configured next page is missing, and a count may be that of the page alone', async () => {
    const { failure } = await failureOf(json({ items: two, count: 2 }), { records: '/items', next: '/nxt' })

    expect(failure).toMatchObject({ message: expect.stringContaining('holds nothing at /nxt') })
  })

  test('where it is CSV, and a header names the next page', async () => {
    const { failure } = await failureOf(csv('id\n1\n', { link: '<?page=2>; rel=next' }), { format: 'csv' })

    expect(failure).toMatchObject({ message: expect.stringContaining('the header link names a next page') })
  })

  test('where the total says that people came to the list while its pages were read', async () => {
    const { failure } = await failureOf(
      (request, response) =>
        request.url === '/people'
          ? json({ items: two, total: 3, next: '?page=2' })(request, response)
          : json({ items: [{ id: '3' }], total: 4, next: null })(request, response),
      { records: '/items', next: '/next' },
    )

    expect(failure).toMatchObject({ message: expect.stringContaining('/total counts 4 records, and 3 were read') })
  })
})

describe('a list states how its end was recognised', () => {
  test.each<readonly [string, Answer, HttpSettings, string]>([
    ['nothing says that there is more', json(two), {}, 'the only page: nothing in the answer says that there is more'],
    [
      'the total was reached',
      json({ items: two, total: 2, hasMore: false, next: null }),
      { records: '/items' },
      'the only page: /total counts 2 records, and 2 were read; /hasMore says that there is no more',
    ],
    [
      'the next page is null',
      json({ items: two, next: null }),
      { records: '/items', next: '/next' },
      'page 1 is the last: /next is null',
    ],
    [
      'the next page is missing, and the total was reached',
      json({ items: two, total: '2' }),
      { records: '/items', next: '/next' },
      'page 1 is the last: /next is missing; /total counts 2 records, and 2 were read',
    ],
    [
      'the next page is missing, and the configuration allows that',
      json({ items: two }),
      { records: '/items', next: '/next', pages: 'single' },
      'page 1 is the last: /next is missing, as pages: single allows',
    ],
    [
      'the page is full, and the configuration says that it is the only one',
      json({ items: two }),
      { url: '?limit=2', records: '/items', pages: 'single' },
      'the only page: nothing in the answer says that there is more',
    ],
    [
      'the page is full, and the total was reached',
      json(two, { 'x-total': '2' }),
      { url: '?per_page=2' },
      'the only page: the header x-total counts 2 records, and 2 were read',
    ],
    [
      'words in the records and other numbers say nothing',
      json({ items: [{ id: '1', next: '?page=2', total: 9 }], took: 512, total_time_ms: 512, next_run_at: 'noon' }),
      { records: '/items' },
      'the only page: nothing in the answer says that there is more',
    ],
  ])('where %s', async (_case, answer, { url = '', ...settings }, expected) => {
    await using server = await startHrServer(answer)
    await using folder = await temporaryFolder()

    const reading = await openHttp({ url: `${server.url}/people${url}`, ...settings }, { folder: folder.path })

    expect(reading.source?.end).toBe(expected)
    expect((await rowsOf(reading)).length).toBeGreaterThan(0)
  })

  test('where there were several pages', async () => {
    await using server = await startHrServer((request, response) =>
      request.url === '/people'
        ? json({ items: two, total: 3, next: '?page=2' })(request, response)
        : json({ items: [{ id: '3' }], total: 3 })(request, response),
    )
    await using folder = await temporaryFolder()
    const settings = { url: `${server.url}/people`, records: '/items', next: '/next' }

    const reading = await openHttp(settings, { folder: folder.path })

    const stated = 'page 2 is the last: /next is missing; /total counts 3 records, and 3 were read'
    expect(reading.source?.end).toBe(stated)
    expect(await rowsOf(reading)).toHaveLength(3)
  })
})
