import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import type { SourcePreview } from '../../../src/connectors/discovery.ts'
import { previewHttp } from '../../../src/connectors/http/preview.ts'
import { bearer } from '../../helpers/hr-systems/authentication.ts'
import { credentials } from '../../helpers/hr-systems/credentials.ts'
import { startSystem } from '../../helpers/hr-systems/server.ts'
import { requireSystem } from '../../helpers/hr-systems/systems.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { type Answer, json, openHttp, rowsOf, startHrServer } from '../../helpers/sources/hr-server.ts'

type Given = { readonly token?: string; readonly settings?: Readonly<Record<string, string>> }

/** What is found at an address. `folder` receives the token. */
async function discover(
  url: string,
  folder: string,
  { token = credentials.token, settings = {} }: Given = {},
): Promise<Extract<SourcePreview, { list: unknown }>> {
  await writeFile(join(folder, 'token'), token)
  const named = { location: url, secretFile: 'token', settings: new Map(Object.entries(settings)) }
  const signal = new AbortController().signal
  const preview = await previewHttp(named, { workingDirectory: folder, configFolder: folder, signal })
  if (!('list' in preview)) throw new Error('this is an export, and no list')
  return preview
}

/** How many rows a run reads with the settings that were found. */
async function countRows(
  { source }: SourcePreview,
  folder: string,
  token: string = credentials.token,
): Promise<number> {
  const { bearer: reference, ...settings } = source
  expect(reference).toBe('${file:token}')
  const reading = await openHttp({ ...settings, bearer: token }, { folder, secrets: { bearer: token } })
  return (await rowsOf(reading)).length
}

/** People with the keys p1, p2 and so on. */
function people(count: number, from = 0) {
  return Array.from({ length: count }, (_, at) => ({ id: `p${from + at + 1}`, email: `p${from + at + 1}@example.com` }))
}

/** Pages of people by a query parameter that names the position of the first one, counted from `first`. */
function pagesAt(parameter: string, { first, count, size }: { first: number; count: number; size: number }): Answer {
  return (request, response) => {
    const stated = new URL(request.url ?? '', 'http://hr').searchParams.get(parameter)
    const skip = Number(stated ?? first) - first
    json(people(Math.min(size, Math.max(0, count - skip)), skip))(request, response)
  }
}

describe('the list and the pages of a system are found, and a run reads all of it', () => {
  test.each([
    ['rippling-api', '/workers', {}, { records: '/results', pages: { by: 'next', next: '/next_link', key: '/id' } }],
    [
      'deel-api',
      '/rest/v2/people',
      {},
      { records: '/data', pages: { by: 'offset', parameter: 'offset', total: '/page/total_rows', key: '/id' } },
    ],
    [
      'merge',
      '/api/hris/v1/employees',
      { 'headers.X-Account-Token': credentials.token },
      { records: '/results', pages: { by: 'cursor', next: '/next', parameter: 'cursor', key: '/id' } },
    ],
    [
      'kombo',
      '/v1/hris/employees?page_size=50',
      { 'headers.X-Integration-Id': 'personio:acme' },
      { records: '/data/results', pages: { by: 'cursor', next: '/data/next', parameter: 'cursor', key: '/id' } },
    ],
    [
      'factorial-api',
      '/api/2025-10-01/resources/employees/employees',
      {},
      {
        records: '/data',
        pages: { by: 'cursor', next: '/meta/end_cursor', parameter: 'after_id', more: '/meta/has_next_page' },
      },
    ],
    [
      'scim',
      '/scim/v2/Users?count=50',
      {},
      { records: '/Resources', pages: { by: 'startIndex', parameter: 'startIndex', total: '/totalResults' } },
    ],
  ])('%s', async (name, path, settings, expected) => {
    const system = requireSystem(name)
    const hasHeader = Object.keys(settings).length > 0
    const token = hasHeader ? credentials.apiKey : credentials.token
    // The two with a header of their own are asked as they are; of the others only the token matters here.
    const listed = hasHeader ? system : { ...system, authentication: bearer(token) }
    const { path: listPath } = system.lists[0]
    await using server = await startSystem(listed, { people: 120 })
    await using folder = await temporaryFolder()

    const preview = await discover(`${server.origin}${listPath}${new URL(path, server.origin).search}`, folder.path, {
      token,
      settings,
    })

    expect(preview.source).toMatchObject({ format: 'json', ...expected })
    expect(preview.list).toMatchObject({ isWhole: false })
    expect(await countRows(preview, folder.path, token)).toBe(120)
  })

  test('pages in the header Link', async () => {
    await using server = await startHrServer((request, response) => {
      const isSecond = request.url?.includes('after=') ?? false
      const headers: Record<string, string> = isSecond ? {} : { link: '</people?after=p3>; rel="next"' }
      json(isSecond ? people(2, 3) : people(3), headers)(request, response)
    })
    await using folder = await temporaryFolder()

    const preview = await discover(`${server.url}/people`, folder.path)

    expect(preview.source).toMatchObject({ pages: { by: 'link', key: '/id' } })
    expect(await countRows(preview, folder.path)).toBe(5)
  })

  test('a token whose parameter has the name of its member', async () => {
    await using server = await startHrServer((request, response) => {
      const token = new URL(request.url ?? '', 'http://hr').searchParams.get('bookmark')
      json({ people: token === null ? people(3) : people(2, 3), nextBookmark: token === null ? 'b3' : null })(
        request,
        response,
      )
    })
    await using folder = await temporaryFolder()

    const preview = await discover(`${server.url}/people`, folder.path)

    expect(preview.source).toMatchObject({ pages: { by: 'cursor', next: '/nextBookmark', parameter: 'bookmark' } })
    expect(await countRows(preview, folder.path)).toBe(5)
  })

  test('a page number in the address, which the settings send instead', async () => {
    await using server = await startHrServer((request, response) => {
      const page = Number(new URL(request.url ?? '', 'http://hr').searchParams.get('pageIndex') ?? '0')
      json({ people: people(page > 1 ? 0 : 3, page * 3), total: 6 })(request, response)
    })
    await using folder = await temporaryFolder()

    const preview = await discover(`${server.url}/people?fields=all&pageIndex=0`, folder.path)

    expect(preview.source).toMatchObject({
      url: `${server.url}/people?fields=all`,
      pages: { by: 'page', parameter: 'pageIndex', first: 0, total: '/total' },
    })
    expect(await countRows(preview, folder.path)).toBe(6)
  })

  test('a full page of a bare list, by trying, and only from the number that servers count from', async () => {
    const rule = { count: 25, size: 20 }
    await using byOffset = await startHrServer(pagesAt('offset', { first: 0, ...rule }))
    await using byOne = await startHrServer(pagesAt('startIndex', { first: 1, ...rule }))
    await using byZero = await startHrServer((request, response) => {
      const page = Number(new URL(request.url ?? '', 'http://hr').searchParams.get('page') ?? '0')
      json(people(20, page * 20))(request, response)
    })
    await using folder = await temporaryFolder()

    const previews: unknown[] = []
    for (const { url } of [byOffset, byOne, byZero]) previews.push((await discover(url, folder.path)).source.pages)

    expect(previews).toEqual([
      { by: 'offset', parameter: 'offset', first: 0, in: 'query', key: '/id' },
      { by: 'startIndex', parameter: 'startIndex', first: 1, in: 'query', key: '/id' },
      undefined,
    ])
  })
})

test('pages are found although the server fails at parameters that it does not know', async () => {
  const answer: Answer = (request, response) => {
    const [unknown] = [...new URL(request.url ?? '', 'http://hr').searchParams.keys()].filter((name) => name !== 'skip')
    if (unknown !== undefined) response.writeHead(500).end()
    else pagesAt('skip', { first: 0, count: 150, size: 100 })(request, response)
  }
  await using server = await startHrServer(answer)
  await using folder = await temporaryFolder()

  const { source } = await discover(server.url, folder.path)

  expect(source.pages).toMatchObject({ by: 'offset', parameter: 'skip' })
})

describe('a server that fails at a parameter that it knows', () => {
  /** 150 people in pages of 100, on a server that fails the first `failures` requests with the parameter. */
  const failing = (failures: number): Answer => {
    let remaining = failures
    return (request, response) => {
      const isPage = new URL(request.url ?? '', 'http://hr').searchParams.has('offset')
      if (isPage && remaining-- > 0) response.writeHead(500).end()
      else pagesAt('offset', { first: 0, count: 150, size: 100 })(request, response)
    }
  }

  test('once is asked again', async () => {
    await using server = await startHrServer(failing(1))
    await using folder = await temporaryFolder()

    const { source, list } = await discover(server.url, folder.path)

    expect(source.pages).toMatchObject({ by: 'offset', parameter: 'offset' })
    expect(list.notes.join(' ')).not.toContain('HTTP 500')
  })

  test('again and again is named, without the rest of its address', async () => {
    await using server = await startHrServer(failing(9))
    await using folder = await temporaryFolder()

    const { source, list } = await discover(`${server.url}?key=hidden`, folder.path)

    expect(source.pages).toBeUndefined()
    expect(list.notes).toContainEqual(
      'The server failed (HTTP 500) when a second page was asked for with its position, sent as offset. If it has pages of this kind, they are not read: repeat this later, or set pages.',
    )
  })
})

describe('what an answer does not show is said', () => {
  test.each([
    ['no total', { people: people(3) }, /Nothing states how many people the list has/],
    ['a full page', people(50), /50 records, as full pages often do, and nothing says that there is another page/],
    ['more without a way to it', { people: people(3), hasMore: true }, /A run refuses the list until pages is set/],
    [
      'a total without a way to the rest',
      { people: people(3), total: 6 },
      /although \/total counts 6 records, and 3 were/,
    ],
    [
      'leavers',
      { people: people(3), total: 3 },
      /^Rollcall cannot tell whether the list includes people who have left/,
    ],
  ])('%s', async (_what, answer, expected) => {
    await using server = await startHrServer(json(answer))
    await using folder = await temporaryFolder()

    const { list, source } = await discover(server.url, folder.path)

    expect(source.pages).toBeUndefined()
    expect(list.notes.join(' ')).toMatch(expected)
  })
})

describe('an answer without a list of people is refused', () => {
  test.each([
    ['one record', { id: 1, email: 'ana@example.com', phones: [{ type: 'work' }] }, /is one record, and no list/],
    ['an object', { status: 'ok' }, /holds no list of records/],
    ['an empty list', { data: [] }, /its list at \/data is empty/],
    ['texts', ['Ana', 'Ben'], /its list holds no records/],
    ['text cut off', '{"data":[{"id":', /is not valid JSON/],
    ['several lists', { a: people(3), b: people(2) }, /\/a \(3\) and \/b \(2\): .*--set 'records=\/a'/],
  ])('%s', async (_what, answer, expected) => {
    await using server = await startHrServer(json(answer))
    await using folder = await temporaryFolder()

    await expect(discover(server.url, folder.path)).rejects.toThrow(expected)
  })

  test('refused credentials, and a choice of what is no list', async () => {
    await using refusing = await startHrServer((_request, response) => response.writeHead(401).end())
    await using server = await startHrServer(json({ a: people(3), b: people(2) }))
    await using folder = await temporaryFolder()
    const choose = async (settings: Readonly<Record<string, string>>) =>
      await discover(server.url, folder.path, { settings })

    await expect(discover(refusing.url, folder.path)).rejects.toThrow(/does not accept the credentials/)
    await expect(choose({ records: '/c' })).rejects.toThrow(/no list of records at \/c/)
    await expect(choose({ 'apiKey.value': 'x' })).rejects.toThrow(/--set takes only records and headers\.NAME/)
    await expect(choose({ 'headers.X-Key': '${file:key}' })).rejects.toThrow(/without secrets/)
    expect((await choose({ records: '/b' })).source).toMatchObject({ records: '/b' })
  })
})
