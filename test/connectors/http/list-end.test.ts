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
const fifty = Array.from({ length: 50 }, (_, at) => ({ id: String(at) }))

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
    '/links/1/href names a next page',
  ],
  [
    'as many records as were asked for',
    json({ workers: two }),
    { url: '?$top=2&$skip=0', records: '/workers' },
    'holds 2 records, as many as $top asks for',
  ],
  [
    'as many records as the body of the request asks for',
    json({ workers: two }),
    { method: 'POST', body: { query: { pageSize: 2 }, showInactive: true }, records: '/workers' },
    'holds 2 records, as many as pageSize asks for',
  ],
  [
    'as many records as a less usual parameter asks for',
    json({ workers: two }),
    { url: '?recordsPerPage=2', records: '/workers' },
    'holds 2 records, as many as recordsPerPage asks for',
  ],
  ...['maxPageSize', 'pageLength', 'fetchSize', 'rowLimit', 'resultCount', 'maxEntries', 'employeesPerPage'].map(
    (name): Shape => [
      `as many records as ${name} asks for`,
      json({ workers: two }),
      { url: `?${name}=2`, records: '/workers' },
      `holds 2 records, as many as ${name} asks for`,
    ],
  ),
  [
    'as many records as the text of a query asks for',
    json({ data: { employees: two } }),
    { method: 'POST', body: { query: '{ employees(first: 2) { id } }' }, records: '/data/employees' },
    'holds 2 records, as many as first asks for',
  ],
  [
    'a usual limit below the size that it repeats',
    json({ items: fifty, count: 200 }),
    { method: 'POST', body: { count: 200 }, records: '/items' },
    'holds 50 records, a usual limit of a page, although count asks for 200',
  ],
  [
    'a usual limit below the size in the address',
    json({ items: fifty }),
    { url: '?limit=1000', records: '/items' },
    'holds 50 records, a usual limit of a page, although limit asks for 1000',
  ],
  [
    'a count that only a filter of the request holds too',
    json({ items: two, count: 7 }),
    { method: 'POST', body: { filter: { departments: { count: 7 } } }, records: '/items' },
    '/count counts 7 records, and 2 were read',
  ],
  [
    'another member than the configured one',
    json({ items: two, links: { next: '?page=2' }, nxt: null }),
    { records: '/items', next: '/nxt' },
    '/links/next names a next page',
  ],
  [
    'an address in a link object',
    json({ _data: two, _meta: { links: { next: { href: '/v2/persons?cursor=b' } } } }),
    { records: '/_data' },
    '/_meta/links/next/href names a next page',
  ],
  [
    'a count in a header of the sender’s own',
    json(two, { 'x-pcty-total-count': '5' }),
    {},
    'the header x-pcty-total-count counts 5 records, and 2 were read',
  ],
  [
    'a flag about pages',
    json({ employees: two, page_context: { page: 1, per_page: 2, has_more_page: true } }),
    { records: '/employees' },
    '/page_context/has_more_page says that there is more',
  ],
  ['a mark that it was cut', json({ items: two, isTruncated: true }), { records: '/items' }, '/isTruncated says that'],
  [
    'a total, whatever the page counts',
    json({ items: two, paging: { start: 0, count: 2, total: 3 } }),
    { records: '/items' },
    '/paging/total counts 3 records, and 2 were read',
  ],
  [
    'another statement than the ignored one',
    json({ items: two, statistics: { total: 9 }, total: 5 }),
    { records: '/items', ignoredStatements: ['/statistics', '/tot'] },
    '/total counts 5 records, and 2 were read',
  ],
  [
    'a count for which the only page is too short',
    json({ items: two, count: 5 }),
    { records: '/items', next: '/next', pages: 'single' },
    '/count counts 5 records, and 2 were read',
  ],
]

describe('a first page never passes for the list', () => {
  test.each(firstPages)(
    'if %s states that there is more',
    async (_shape, answer, { url = '', ...settings }, statement) => {
      const { failure, remaining } = await failureOf(answer, settings, url)

      expect(failure).toMatchObject({ code: 'source_unreadable', message: expect.stringContaining(statement) })
      expect(remaining).toEqual([])
    },
  )

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

describe('what the first page alone counts', () => {
  const paged =
    (total: number, last: object = {}): Answer =>
    (request, response) =>
      request.url === '/people'
        ? json({ items: two, total, next: '?page=2' })(request, response)
        : json({ items: [{ id: '3' }], next: null, ...last })(request, response)
  const settings: HttpSettings = { records: '/items', next: '/next' }

  test('refuses a list with fewer records', async () => {
    const { failure, remaining } = await failureOf(paged(5), settings)

    expect(failure).toMatchObject({
      code: 'source_unreadable',
      message: expect.stringContaining('/total counts 5 records, and 3 were read'),
    })
    expect(remaining).toEqual([])
  })

  test.each<[string, Answer, HttpSettings]>([
    ['is reached', paged(3), {}],
    ['is counted anew by the last page', paged(5, { total: 3 }), {}],
    ['is about something else', paged(5), { ignoredStatements: ['/total'] }],
  ])('has no effect if it %s', async (_which, answer, more) => {
    await using server = await startHrServer(answer)
    await using folder = await temporaryFolder()

    const reading = await openHttp({ url: `${server.url}/people`, ...settings, ...more }, { folder: folder.path })

    expect(await rowsOf(reading)).toHaveLength(3)
  })
})

/** Whole lists as documented HR APIs answer them, or with members that only read as if there were more. */
const wholeLists: readonly (readonly [list: string, answer: Answer, settings: HttpSettings])[] = [
  ['a report without a page', json({ Report_Entry: two }), { records: '/Report_Entry' }],
  [
    'fewer workers than were asked for',
    json({ workers: two, meta: { startSequence: 1, completeIndicator: true, totalNumber: 2 } }),
    { url: '?$top=100&$skip=0', records: '/workers' },
  ],
  [
    'a total beside the names of fields',
    json({
      fields: [{ id: 'next', name: 'Next' }],
      data: two,
      pagination: { total_records: 2, total_pages: 1, current_page: 1, next_page: null, prev_page: null },
    }),
    { records: '/data', next: '/pagination/next_page' },
  ],
  [
    'one page, counted from 0',
    json({
      success: true,
      metadata: { total_elements: 2, current_page: 0, total_pages: 1 },
      offset: 0,
      limit: 200,
      data: two,
    }),
    { records: '/data' },
  ],
  [
    'links without a next one',
    json({ _data: two, _meta: { links: { self: { href: '/v2/persons' } } } }),
    { records: '/_data', next: '/_meta/links/next/href', pages: 'single' },
  ],
  ['all employees at once', json({ employees: two }), { records: '/employees' }],
  [
    'a next link that is null',
    json({ results: two, next_link: null, __meta: { redacted_fields: [] } }),
    { records: '/results', next: '/next_link' },
  ],
  [
    'one page in headers',
    json(two, { 'x-page': '1', 'x-per-page': '25', 'x-total-pages': '1', 'x-total-count': '2', 'x-next-page': '' }),
    { url: '?page=1&per=25' },
  ],
  ['a list of a data service', json({ d: { __count: '2', results: two } }), { records: '/d/results' }],
  [
    'links to the first and the last page',
    json(two, { link: '<?page=1>; rel="first", <?page=1>; rel="last"', 'x-ratelimit-remaining': '59' }),
    { url: '?page=1&per_page=100' },
  ],
  [
    'a cursor beside the total',
    json({ data: two, page: { cursor: 'b', offset: 0, total_rows: 2, items_per_page: 99 } }),
    { records: '/data' },
  ],
  [
    'a count of the page beside a flag',
    json({ items: two, count: 2, hasMore: false, limit: 500, offset: 0, links: [{ rel: 'self', href: '/a' }] }),
    { records: '/items' },
  ],
  [
    'a cursor that is set on the last page too',
    json({ data: two, meta: { has_next_page: false, has_previous_page: false, start_cursor: 'a', end_cursor: 'b' } }),
    { records: '/data' },
  ],
  [
    'fewer documents than were asked for',
    json({ data: two }),
    { url: '?limit_start=0&limit_page_length=500', records: '/data' },
  ],
  ['a token that is null', json({ next: null, previous: null, results: two }), { records: '/results', next: '/next' }],
  [
    'a token below its data',
    json({ status: 'success', data: { results: two, next: null } }),
    { records: '/data/results' },
  ],
  ['a count of all', json({ paging: { count: 2, offset: 0 }, individuals: two }), { records: '/individuals' }],
  [
    'results in total',
    json({ Resources: two, totalResults: 2, itemsPerPage: 100, startIndex: 1 }),
    { url: '?startIndex=1&count=100', records: '/Resources' },
  ],
  [
    'the size of a page as its count',
    json({ elements: two, paging: { start: 0, count: 10, total: 2, links: [] } }),
    { records: '/elements' },
  ],
  [
    'the size that was asked for as its count',
    json({ items: two, query: { count: 100 } }),
    { url: '?count=100', records: '/items' },
  ],
  [
    'the size that the body asked for as its count',
    json({ items: two, count: 200 }),
    { method: 'POST', body: { paging: { count: 200 } }, records: '/items' },
  ],
  [
    'as many as a number of a filter',
    json({ items: two }),
    { method: 'POST', body: { filter: { departments: { count: 2 } } }, records: '/items' },
  ],
  [
    'a place behind the last page',
    json({ users: two, meta: { has_more: false }, links: { next: '?after=b' } }),
    { records: '/users' },
  ],
  [
    'members of another meaning',
    json({
      items: two,
      totalLatency: 512,
      total_requests: 5000,
      nextPayroll: { date: '2026-12-01' },
      next_sync_at: 'noon',
      nextDeltaLink: '?delta=b',
      complete: false,
    }),
    { records: '/items' },
  ],
  ['a range of bytes', json(two, { 'content-range': 'bytes 0-19/20' }), {}],
  ['people with links of their own', json([{ id: '1', rel: 'next', href: '/people/1' }]), {}],
  [
    'statements that the configuration knows better',
    json({ items: two, _shards: { total: 5 }, departments: { count: 12, next: '?b' } }, { 'x-total-mailboxes': '9' }),
    { records: '/items', ignoredStatements: ['/_shards/total', '/departments', 'X-Total-Mailboxes'] },
  ],
]

test.each(wholeLists)('a whole list is read: %s', async (_list, answer, { url = '', ...settings }) => {
  await using server = await startHrServer(answer)
  await using folder = await temporaryFolder()

  const reading = await openHttp({ url: `${server.url}/people${url}`, ...settings }, { folder: folder.path })

  expect((await rowsOf(reading)).length).toBeGreaterThan(0)
})

test('a header that is about something else says nothing about a CSV export', async () => {
  await using server = await startHrServer(csv('id\n1\n', { link: '<?page=2>; rel=next' }))
  await using folder = await temporaryFolder()
  const settings: HttpSettings = { url: `${server.url}/people`, format: 'csv', ignoredStatements: ['Link'] }

  expect(await rowsOf(await openHttp(settings, { folder: folder.path }))).toHaveLength(1)
})

test('a refusal states how to proceed if the statement is about something else', async () => {
  const { failure } = await failureOf(json({ items: two, _shards: { total: 5 } }), { records: '/items' })

  expect(failure).toMatchObject({
    message: expect.stringContaining('if it is not about this list, write ignoredStatements: ["/_shards/total"]'),
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
      'a name of a member holds what no terminal and no database may be given',
      json({ items: two, 'to\u0000tal\u001b': 2 }),
      { records: '/items' },
      'the only page: /to\\u0000tal\\u001b counts 2 records, and 2 were read',
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
