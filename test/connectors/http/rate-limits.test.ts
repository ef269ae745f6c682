import { describe, expect, test } from 'vitest'
import { openPacer } from '../../../src/connectors/http/client/pacer.ts'
import { statedWaitMs } from '../../../src/connectors/http/client/stated-wait.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import {
  type Answer,
  failureOf,
  type HttpSettings,
  json,
  openHttp,
  pagesOfPeople,
  rowsOf,
  startHrServer,
} from '../../helpers/sources/hr-server.ts'
import { testClock } from '../../helpers/sources/test-clock.ts'

const now = new Date('2026-11-20T12:00:00Z')
const epoch = now.getTime() / 1000
const paged = { records: '/people', next: '/next', pages: 'single' } as const

function limited(headers: Readonly<Record<string, string>> = {}, status = 429): Answer {
  return (_request, response) => response.writeHead(status, { date: now.toUTCString(), ...headers }).end('Ana Secret')
}

/** Reads three pages, of which the second one gets these answers first. They state no total, so they are read twice. */
async function readThrough(troubles: readonly Answer[], settings: HttpSettings = {}) {
  const remaining = [...troubles]
  const people = pagesOfPeople(3)
  await using server = await startHrServer((request, response) => {
    const isSecond = request.url?.includes('page=2')
    const answer = (isSecond && remaining.shift()) || people
    answer(request, response)
  })
  await using folder = await temporaryFolder()
  const clock = testClock()
  const reasons: string[] = []
  const options = { now: () => now, onWait: (reason: string) => reasons.push(reason) }
  const opened = { folder: folder.path, clock, options }
  const rows = await rowsOf(await openHttp({ url: `${server.url}/people`, ...paged, ...settings }, opened))
  return { rows: rows.length, waits: clock.waits, reasons, paths: server.requests.map(({ path }) => path) }
}

describe('a wait that a server states', () => {
  test.each([
    ['seconds', { 'retry-after': '30' }, 30_000],
    ['parts of seconds', { 'retry-after': '1.5' }, 1500],
    ['a date', { 'retry-after': new Date(now.getTime() + 45_000).toUTCString() }, 45_000],
    ['a date that is over', { 'retry-after': new Date(0).toUTCString() }, 0],
    [
      'a date by a clock that differs',
      { date: 'Fri, 20 Nov 2026 11:00:00 GMT', 'retry-after': 'Fri, 20 Nov 2026 11:00:10 GMT' },
      10_000,
    ],
    ['a reset in seconds', { 'x-ratelimit-reset': '60' }, 60_000],
    ['a reset as a time in seconds', { 'x-ratelimit-reset': String(epoch + 20) }, 20_000],
    ['a reset as a time in milliseconds', { 'x-rate-limit-reset': String(epoch * 1000 + 2500) }, 2500],
    ['a reset as a date', { 'x-ratelimit-reset': '2026-11-20T12:00:05Z' }, 5000],
    ['a reset that is over', { 'x-ratelimit-reset': String(epoch - 20) }, 0],
    ['the reset of the first drafts', { 'ratelimit-reset': '7' }, 7000],
    ['the header of the later drafts', { ratelimit: 'limit=100, remaining=0, reset=50' }, 50_000],
    ['the header of the newest drafts', { ratelimit: '"hour";r=100;t=3000, "minute";r=0;t=12' }, 12_000],
    ['a header without the rest', { ratelimit: '"default";t=9' }, 9000],
    ['Retry-After beside a reset', { 'retry-after': '3', 'x-ratelimit-reset': '60' }, 3000],
    ['nothing', {}, null],
    ['words', { 'retry-after': 'soon', 'x-ratelimit-reset': '-5', ratelimit: 'none' }, null],
    ['too many digits', { 'retry-after': '9'.repeat(16) }, null],
  ])('is read from %s', (_case, headers, expected) => {
    expect(statedWaitMs({ status: 429, headers: { date: now.toUTCString(), ...headers }, now })).toBe(expected)
  })

  test('is read by our clock if the server has none', () => {
    const headers = { 'retry-after': new Date(now.getTime() + 5000).toUTCString() }

    expect(statedWaitMs({ status: 503, headers, now })).toBe(5000)
  })

  test('is not read from what every answer says of the limit', () => {
    expect(statedWaitMs({ status: 503, headers: { 'x-ratelimit-reset': '60' }, now })).toBeNull()
  })
})

describe('a list whose server limits requests', () => {
  test.each([
    ['Retry-After', limited({ 'retry-after': '90' }), 90_000],
    ['a reset', limited({ 'x-ratelimit-reset': String(epoch + 600) }), 600_000],
    ['nothing', limited(), 1000],
  ])('goes on at the same page after the wait of %s', async (_case, trouble, wait) => {
    const { rows, waits, paths, reasons } = await readThrough([trouble])

    expect(rows).toBe(3)
    expect(waits).toEqual([wait])
    const whole = ['/people', '/people?page=2', '/people?page=3']
    expect(paths).toEqual(['/people', '/people?page=2', '/people?page=2', '/people?page=3', ...whole])
    expect(reasons).toEqual([`waiting ${wait / 1000} s: the server has had too many requests`])
  })

  test('waits longer and longer if it is not told how long', async () => {
    const { rows, waits } = await readThrough(Array(8).fill(limited()))

    expect(rows).toBe(3)
    expect(waits).toEqual([1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000])
  })

  test('waits also if the server asks again and again for no wait', async () => {
    const { waits } = await readThrough(Array(4).fill(limited({ 'retry-after': '0' })))

    expect(waits).toEqual([1000, 2000, 4000])
  })

  test('fails at once if the server asks for a wait that is longer than the rest of the time', async () => {
    const { failure, requests } = await failureOf(limited({ 'retry-after': '3600' }))

    expect(failure).toMatchObject({
      code: 'source_unreachable',
      message: expect.stringMatching(
        /\/people has had too many requests \(status 429\): it asks to wait 3600 s, and totalTimeoutMs leaves 1800 s; try again later, or raise totalTimeoutMs$/,
      ),
    })
    expect(requests).toBe(1)
  })

  test('fails when the waits together are longer than the whole time', async () => {
    const reading = readThrough(Array(12).fill(limited({ 'retry-after': '50' })), { totalTimeoutMs: 120_000 })

    await expect(reading).rejects.toThrow('it asks to wait 50 s, and totalTimeoutMs leaves 20 s')
  })

  test('gives up after twelve attempts, without the words of the server', async () => {
    const { failure, requests } = await failureOf(limited({ 'retry-after': '1' }))

    expect(failure).toMatchObject({
      code: 'source_unreachable',
      message: expect.stringMatching(/has had too many requests \(status 429\): it asks to wait 1 s$/),
    })
    expect(String(failure)).not.toContain('Secret')
    expect(requests).toBe(12)
  })
})

describe('a list whose server is in trouble', () => {
  const broken: Answer = (_request, response) => response.destroy()
  const brokenBody: Answer = (_request, response) => {
    response.writeHead(200, { 'content-type': 'application/json', 'content-length': 1000 })
    response.write('{"people":[', () => response.destroy())
  }

  test.each([
    ['status 502', limited({}, 502)],
    ['status 503', limited({}, 503)],
    ['status 504', limited({}, 504)],
    ['a broken connection', broken],
    ['a connection that breaks within a page', brokenBody],
  ])('goes on at the same page after %s', async (_case, trouble) => {
    const { rows, waits, paths, reasons } = await readThrough([trouble, trouble, trouble])

    expect(rows).toBe(3)
    expect(waits).toEqual([1000, 2000, 4000])
    expect(paths.filter((path) => path === '/people?page=2')).toHaveLength(4 + 1)
    expect(reasons[0]).toBe('waiting 1 s: the server is in trouble')
  })

  test('waits as long as a status 503 asks for', async () => {
    const { waits } = await readThrough([limited({ 'retry-after': '120' }, 503)])

    expect(waits).toEqual([120_000])
  })

  test.each([
    ['status 503', limited({}, 503), 4],
    ['a broken connection', broken, 4],
    ['status 500', limited({}, 500), 1],
    ['status 408', limited({}, 408), 1],
  ])('gives up on %s after %i attempts', async (_case, answer, attempts) => {
    const { failure, requests } = await failureOf(answer)

    expect(failure).toMatchObject({ code: 'source_unreachable' })
    expect(requests).toBe(attempts)
  })

  test('is asked again by POST, with the same body', async () => {
    const bodies: string[] = []
    const answers = [broken, limited({ 'retry-after': '2' }), json([{ id: 1 }])]
    await using server = await startHrServer((request, response) => {
      let body = ''
      request.on('data', (chunk) => {
        body += chunk
      })
      request.on('end', () => {
        bodies.push(body)
        answers.shift()?.(request, response)
      })
    })
    await using folder = await temporaryFolder()

    const settings = { url: server.url, method: 'POST', body: { showInactive: true } } as const
    const rows = await rowsOf(await openHttp(settings, { folder: folder.path }))

    expect(rows).toHaveLength(1)
    expect(bodies).toEqual(Array(3).fill('{"showInactive":true}'))
  })
})

describe('requestsPerMinute', () => {
  test('spaces the pages of a list', async () => {
    const { waits } = await readThrough([], { requestsPerMinute: 30 })

    expect(waits).toEqual(Array(5).fill(2000))
  })

  test('spaces requests that are sent side by side, and a pause holds all of them', async () => {
    const clock = testClock()
    const pacer = openPacer(60, clock)
    const { signal } = new AbortController()
    const sentAt: number[] = []
    const turn = async () => {
      await pacer.turn(signal)
      sentAt.push(clock.elapsedMs())
    }

    await turn()
    pacer.pause(5000)
    await turn()
    await turn()

    expect(sentAt).toEqual([0, 5000, 6000])
  })

  test('gives each of several waiting requests a turn of its own', async () => {
    const waits: number[] = []
    const passed = Promise.withResolvers<void>()
    let elapsedMs = 0
    const wait = async (ms: number) => {
      waits.push(ms)
      await passed.promise
    }
    const pacer = openPacer(120, { elapsedMs: () => elapsedMs, wait })
    const { signal } = new AbortController()

    const turns = [1, 2, 3].map(() => pacer.turn(signal))
    elapsedMs = 1000
    passed.resolve()
    await Promise.all(turns)

    expect(waits).toEqual([500, 1000])
  })

  test('holds requests that wait already when a pause begins', async () => {
    const passed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
    const waits: number[] = []
    let elapsedMs = 0
    const wait = async (ms: number) => {
      waits.push(ms)
      await passed[waits.length - 1]?.promise
      elapsedMs += ms
    }
    const pacer = openPacer(60, { elapsedMs: () => elapsedMs, wait })
    const { signal } = new AbortController()
    await pacer.turn(signal)

    const waiting = pacer.turn(signal)
    pacer.pause(5000)
    for (const { resolve } of passed) resolve()
    await waiting

    expect(waits).toEqual([1000, 4000])
  })

  test('ends a wait when the reading is stopped', async () => {
    const stop = new AbortController()
    const clock = testClock()
    const pacer = openPacer(1, clock)
    await pacer.turn(stop.signal)

    const waiting = pacer.turn(stop.signal)
    stop.abort(new Error('stopping'))

    await expect(waiting).rejects.toThrow('stopping')
  })
})

describe('the time until the first byte', () => {
  test('may be longer than the server may be silent within its answer', async () => {
    let compute: (() => void) | undefined
    const slow: Answer = (request, response) => {
      if (request.url === '/impatient') return
      compute = () => json([{ id: 1 }])(request, response)
    }
    await using server = await startHrServer(slow)
    await using folder = await temporaryFolder()
    const open = (path: string, settings: HttpSettings) =>
      openHttp({ url: `${server.url}${path}`, idleTimeoutMs: 100, ...settings }, { folder: folder.path })

    const patient = open('/patient', { firstByteTimeoutMs: 60_000 })
    // The patient request is older than the one that was silent for too long.
    await expect.poll(() => compute).toBeDefined()
    await expect(open('/impatient', {})).rejects.toThrow('stayed silent for too long')
    compute?.()

    expect(await rowsOf(await patient)).toHaveLength(1)
  })

  test('does not let the answer fall silent once it has begun', async () => {
    const { failure } = await failureOf(
      (_request, response) => {
        response.writeHead(200, { 'content-type': 'application/json' })
        response.write('[')
      },
      { idleTimeoutMs: 100, firstByteTimeoutMs: 3_600_000 },
    )

    expect(failure).toMatchObject({ message: expect.stringContaining('stayed silent within its answer') })
  })

  test('has an end', async () => {
    const { failure } = await failureOf(() => {}, { firstByteTimeoutMs: 100 })

    expect(failure).toMatchObject({
      message: expect.stringMatching(/stayed silent for too long .*raise firstByteTimeoutMs/),
    })
  })
})
