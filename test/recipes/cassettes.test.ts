import { describe, expect, test } from 'vitest'
import { MappingPatch } from '../../src/identity/mapping/mapping.ts'
import { type Cassette, originName, readCassette } from '../helpers/cassettes/cassette.ts'
import { recordCassette } from '../helpers/cassettes/record.ts'
import { startReplay } from '../helpers/cassettes/replay.ts'
import { inventRoster } from '../helpers/hr-systems/roster.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { type HttpSettings, httpSource, json, openHttp, startHrServer } from '../helpers/sources/hr-server.ts'
import { testClock } from '../helpers/sources/test-clock.ts'
import { noon, openSystem } from './opened-system.ts'
import { mappingOf, mapReading } from './roster-of.ts'
import { readRecipeFile } from './systems.ts'

/** What a cassette gives to a source that reads it, with its settings or others. */
async function replayed(cassette: Cassette, changed: HttpSettings = {}) {
  await using replay = await startReplay(cassette)
  await using folder = await temporaryFolder()
  const { type: _, ...settings } = replay.settings
  const opening = openHttp(
    { ...(settings as HttpSettings), ...changed },
    { folder: folder.path, secrets: replay.secrets },
  )
  const { reading, failure } = await opening.then(
    (opened) => ({ reading: opened, failure: null }),
    ({ message }: Error) => ({ reading: null, failure: message.replaceAll(replay.url, originName) }),
  )
  const people = reading && (await mapReading(reading, MappingPatch.parse(cassette.mapping)))
  await reading?.close?.()
  const { unexpected, remaining } = replay
  return { failure, people, end: reading?.source?.end, unexpected: [...unexpected], remaining: remaining() }
}

/** Records a system of the tests. */
async function recorded(name: string, people: number, options: Omit<Parameters<typeof openSystem>[1], 'people'> = {}) {
  await using system = await openSystem(name, { people, pageSize: 3, ...options })
  await using folder = await temporaryFolder()
  const secrets = new Map(Object.entries(system.secrets))
  const secret = (path: string) => {
    const value = secrets.get(path)
    return value === undefined ? null : { read: async () => value }
  }
  const cassette = await recordCassette({
    source: httpSource(system.settings as HttpSettings),
    mapping: mappingOf(await readRecipeFile(name)),
    context: { baseDir: folder.path, spoolDir: folder.path, tokensDir: folder.path, secret },
    secrets,
    options: { now: () => noon, signal: new AbortController().signal, findDecided: async () => new Set() },
    dependencies: { clock: testClock() },
  })
  return { cassette, secrets: [...secrets.values()], origin: system.server.origin }
}

describe.each([
  ['personio-v2-api', 'a login, addresses of pages, and a request for each person'],
  ['finch', 'a request for several people'],
  ['odoo-api', 'a key and positions in bodies'],
  ['ukg-pro-api', 'two lists with the header Link'],
  ['gusto-api', 'a refresh token and the number of pages in a header'],
])('a cassette of %s, with %s,', (name) => {
  const size = 7

  test('replays the same list, without its people and secrets', async () => {
    const { cassette, secrets, origin } = await recorded(name, size)
    const replay = await replayed(cassette)

    const text = JSON.stringify(cassette)
    const personal = inventRoster(size).flatMap(({ last, email, privateEmail, title }) => [
      last,
      email,
      privateEmail,
      title,
    ])
    expect([...personal, ...secrets, origin].filter((one) => text.includes(one))).toEqual([])
    expect(replay).toMatchObject({ unexpected: [], remaining: [], end: expect.any(String) })
    const dates = inventRoster(size).map(({ end }) => end?.toString() ?? null)
    expect(replay.people).toHaveLength(size)
    expect(replay.people?.map(({ leavingDate }) => leavingDate ?? null)).toEqual(dates)
  })

  test('replays how a reading failed', async () => {
    const { cassette } = await recorded(name, size, {
      faults: [{ kind: 'html', page: name === 'ukg-pro-api' ? 1 : 2 }],
    })
    const replay = await replayed(cassette)

    expect(cassette.failure).toMatch(/answers with text\/html/)
    expect(replay).toMatchObject({
      failure: expect.stringMatching(/answers with text\/html/),
      unexpected: [],
    })
  })
})

test('a cassette keeps no people beside the records of a list', async () => {
  const answer = { data: [{ id: 'P1' }], included: [{ name: 'Zoe' }], meta: { by: 'zoe@acme.example', total: 1 } }
  await using server = await startHrServer(json(answer))
  await using folder = await temporaryFolder()

  const cassette = await recordCassette({
    source: httpSource({ url: server.url, records: '/data' }),
    mapping: {},
    context: { baseDir: folder.path, spoolDir: folder.path, tokensDir: folder.path, secret: () => null },
    secrets: new Map(),
    options: { now: () => noon, signal: new AbortController().signal, findDecided: async () => new Set() },
  })

  expect(JSON.stringify(cassette)).not.toMatch(/zoe/i)
  expect(cassette.exchanges).toMatchObject([{ response: { body: { data: [{}], meta: { total: 1 } } } }])
})

test('a server that replays a cassette refuses what was not recorded, and says so', async () => {
  const { cassette } = await recorded('deel-api', 7)
  const { failure, unexpected } = await replayed({ ...cassette, exchanges: cassette.exchanges.slice(0, 1) })

  expect(failure).toMatch(/\(status 501\)/)
  expect(unexpected).toEqual(['GET /rest/v2/people?offset=3&limit=3'])
})

describe('a recorded cassette', () => {
  test('of Personio brings the employment that began last, and its manager', async () => {
    const cassette = await readCassette('personio-v2')

    const { people, ...replay } = await replayed(cassette)

    expect(replay).toMatchObject({ failure: null, unexpected: [], remaining: [] })
    const keys = people?.map(({ identityId }) => identityId)
    expect(people?.map(({ fields }) => (fields as { managerId: unknown }).managerId)).toEqual([
      null,
      ...Array.from({ length: 7 }, () => keys?.[0]),
    ])
    expect(people?.map(({ leavingDate }) => leavingDate)).toEqual([
      ...[null, null, '2026-12-03', null, '2026-10-27', null, null, null],
    ])
  })

  test('of Finch, whose data of a person is still being fetched, is refused, or read without that employment', async () => {
    const cassette = await readCassette('finch-pending')

    const refused = await replayed(cassette)
    const read = await replayed(cassette, { missingDetails: 'cell' })

    expect(refused.failure).toBe(cassette.failure)
    expect(read).toMatchObject({ failure: null, unexpected: [], remaining: [] })
    expect(read.people?.map(({ isUncertain }) => isUncertain)).toEqual([false, false, true, false, false])
  })
})
