import { readdirSync, readFileSync } from 'node:fs'
import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeEach, describe, expect, test } from 'vitest'
import { systemClock } from '../../../../src/connectors/http/network/clock.ts'
import { takeFileLock } from '../../../../src/system/file-lock.ts'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import { type Answer, openHttp, rowsOf } from '../../../helpers/sources/hr-server.ts'
import { peopleOf, startTokenSystem, type TokenSystem } from '../../../helpers/sources/token-system.ts'

const refuse: Answer = (_request, response) => {
  response.writeHead(400, { 'content-type': 'application/json' }).end('{"error":"invalid_grant"}')
}

let now: Date
beforeEach(() => {
  now = new Date('2026-11-20T12:00:00Z')
})

type RotatingOptions = {
  readonly onPage?: (number: number, system: Pick<TokenSystem, 'revokeTokens'>) => void
  /** Answers in place of the system once the token is spent. */
  readonly afterSpending?: (count: number, issue: Answer) => Answer
  readonly pages?: number
}

/** A system in which each refresh token can be used once: refresh-0, then refresh-1 … */
async function startRotating({ onPage, pages, afterSpending = (_count, issue) => issue }: RotatingOptions = {}) {
  let current = 0
  return await startTokenSystem({
    pages,
    onPage,
    issues: () => ({ refresh_token: `refresh-${current}`, expires_in: 3600 }),
    onToken: ({ form }, issue) => {
      if (form.get('refresh_token') !== `refresh-${current}`) return refuse
      current += 1
      return afterSpending(current, issue)
    },
  })
}

type Opening = {
  readonly folder: string
  readonly token?: string
  readonly clock?: typeof systemClock
  readonly signal?: AbortSignal
  readonly settings?: { readonly idleTimeoutMs?: number; readonly totalTimeoutMs?: number }
}

async function read(system: TokenSystem, { folder, token = 'refresh-0', clock, settings, ...rest }: Opening) {
  const oauth2 = {
    ...{ tokenUrl: `${system.url}/token`, clientId: 'client-1', refreshToken: 'set', clientSecret: 'set' },
    grant: 'refreshToken',
  } as const
  const secrets = { 'oauth2.refreshToken': token, 'oauth2.clientSecret': 'hidden' }
  const options = { now: () => now, ...rest }
  return await rowsOf(await openHttp({ ...peopleOf(system), ...settings, oauth2 }, { folder, secrets, options, clock }))
}

/** The only file of tokens. */
async function tokenFile(folder: string): Promise<string> {
  const names = (await readdir(join(folder, 'tokens'))).filter((name) => name.endsWith('.json'))
  expect(names).toHaveLength(1)
  return join(folder, 'tokens', names[0] ?? '')
}

const sent = (system: TokenSystem) => system.tokenRequests.map(({ form }) => form.get('refresh_token'))
const hour = 60 * 60 * 1000

describe('a refresh token that can be used once', () => {
  test('is replaced by each answer, and its access token is shared while it is valid', async () => {
    await using system = await startRotating()
    await using folder = await temporaryFolder()
    const open = () => read(system, { folder: folder.path })

    await open()
    await open()
    now = new Date(now.getTime() + hour)
    await open()
    await open()

    expect(sent(system)).toEqual(['refresh-0', 'refresh-1'])
    expect(system.listRequests.map(({ authorization }) => authorization?.at(-1))).toEqual(['1', '1', '2', '2'])
    expect(Object.fromEntries(system.tokenRequests[0]?.form ?? [])).toEqual({
      grant_type: 'refresh_token',
      refresh_token: 'refresh-0',
    })
  })

  test('is kept for this account alone, and on the disk before the access token is used', async () => {
    await using folder = await temporaryFolder()
    const kept: string[] = []
    const onPage = () => {
      const [name = ''] = readdirSync(join(folder.path, 'tokens')).filter((one) => one.endsWith('.json'))
      kept.push(readFileSync(join(folder.path, 'tokens', name), 'utf8'))
    }
    await using system = await startRotating({ onPage })

    await read(system, { folder: folder.path })

    const file = await tokenFile(folder.path)
    const content = JSON.parse(await readFile(file, 'utf8'))
    expect(kept.map((text) => JSON.parse(text))).toEqual([content])
    expect(content).toMatchObject({ refreshToken: 'refresh-1', requestedAt: null, access: { text: 'token-1' } })
    expect(((await stat(file)).mode & 0o777).toString(8)).toBe('600')
    expect(((await stat(join(folder.path, 'tokens'))).mode & 0o777).toString(8)).toBe('700')
    expect(file).not.toContain('refresh-0')
  })

  test('is not lost when the process dies before it uses the access token', async () => {
    const stop = new AbortController()
    await using system = await startRotating({ onPage: () => stop.abort(new Error('the process is gone')) })
    await using folder = await temporaryFolder()

    const dying = read(system, { folder: folder.path, signal: stop.signal })
    await expect(dying).rejects.toThrow('the process is gone')
    await read(system, { folder: folder.path })

    expect(sent(system)).toEqual(['refresh-0'])
    expect(system.listRequests.map(({ authorization }) => authorization)).toEqual(['Bearer token-1', 'Bearer token-1'])
  })

  test('is kept when the reading is stopped while its answer is on the way', async () => {
    const stop = new AbortController()
    const afterSpending = (_count: number, issue: Answer): Answer => {
      return (request, response) => {
        stop.abort(new Error('the daemon stops'))
        setTimeout(() => issue(request, response), 100)
      }
    }
    await using system = await startRotating({ afterSpending })
    await using folder = await temporaryFolder()

    const stopped = read(system, { folder: folder.path, signal: stop.signal })
    await expect(stopped).rejects.toThrow('the daemon stops')
    const content = JSON.parse(await readFile(await tokenFile(folder.path), 'utf8'))

    expect(content).toMatchObject({ refreshToken: 'refresh-1', requestedAt: null, access: { text: 'token-1' } })
    expect(system.listRequests).toEqual([])
  })

  test('is kept when the time of the reading is over while its answer is on the way', async () => {
    const afterSpending = (_count: number, issue: Answer): Answer => {
      return (request, response) => setTimeout(() => issue(request, response), 600)
    }
    await using system = await startRotating({ afterSpending })
    await using folder = await temporaryFolder()

    const late = read(system, { folder: folder.path, settings: { totalTimeoutMs: 300 } })
    await expect(late).rejects.toThrow(/people took longer than 300 ms/)

    expect(await readFile(await tokenFile(folder.path), 'utf8')).toContain('refresh-1')
  })

  test('is awaited for a limited time after the reading is stopped', async () => {
    const stop = new AbortController()
    let drip: NodeJS.Timeout | undefined
    const afterSpending = (): Answer => (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' })
      drip = setInterval(() => response.write(' '), 20)
      setTimeout(() => stop.abort(new Error('the daemon stops')), 50)
    }
    await using system = await startRotating({ afterSpending })
    await using folder = await temporaryFolder()
    const settings = { idleTimeoutMs: 300 }

    const stopped = read(system, { folder: folder.path, signal: stop.signal, settings })

    await expect(stopped).rejects.toThrow('the daemon stops')
    clearInterval(drip)
  })

  test('is not sent again after a limit of requests once the reading is stopped', async () => {
    const stop = new AbortController()
    await using system = await startTokenSystem({
      onToken: () => (_request, response) => {
        stop.abort(new Error('the daemon stops'))
        response.writeHead(429, { 'retry-after': '0' }).end()
      },
    })
    await using folder = await temporaryFolder()

    const stopped = read(system, { folder: folder.path, signal: stop.signal })

    await expect(stopped).rejects.toThrow('the daemon stops')
    expect(sent(system)).toEqual(['refresh-0'])
  })

  test.each([
    ['without an access token', 'application/json', {}, /without an access_token/],
    ['with another kind of token', 'application/json', { access_token: 'a', token_type: 'mac' }, /is not Bearer/],
    ['with a token that no header can carry', 'application/json', { access_token: 'a\r\nb' }, /no header can carry/],
    ['of another content type', 'text/html', { access_token: 'a' }, /answers with text\/html/],
  ])('is kept from an answer %s', async (_case, type, issued, expected) => {
    let isUsable = false
    const afterSpending = (count: number, issue: Answer): Answer => {
      if (isUsable) return issue
      const content = JSON.stringify({ ...issued, refresh_token: `refresh-${count}` })
      return (_request, response) => response.writeHead(200, { 'content-type': type }).end(content)
    }
    await using system = await startRotating({ afterSpending })
    await using folder = await temporaryFolder()

    await expect(read(system, { folder: folder.path })).rejects.toThrow(expected)
    isUsable = true
    await read(system, { folder: folder.path })

    expect(sent(system)).toEqual(['refresh-0', 'refresh-1'])
  })

  test('is tried once more when its answer was lost, for systems that accept it', async () => {
    let isLost = true
    await using system = await startTokenSystem({
      issues: { refresh_token: 'refresh-1' },
      onToken: (_request, issue) => (isLost ? (_, response) => response.destroy() : issue),
    })
    await using folder = await temporaryFolder()

    const first = read(system, { folder: folder.path })
    await expect(first).rejects.toMatchObject({
      code: 'source_unreachable',
      message: expect.stringContaining('/token ended the connection too soon'),
    })
    isLost = false
    await read(system, { folder: folder.path })

    expect(sent(system)).toEqual(['refresh-0', 'refresh-0'])
  })

  test('that was replaced by a lost answer is refused with what helps', async () => {
    await using system = await startRotating({ afterSpending: () => (_request, response) => response.destroy() })
    await using folder = await temporaryFolder()

    await expect(read(system, { folder: folder.path })).rejects.toMatchObject({ code: 'source_unreachable' })
    const second = read(system, { folder: folder.path })

    await expect(second).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(
        /does not accept the refresh token \(invalid_grant\): it was used elsewhere or revoked, or has expired; let the HR system issue a new one, and write it where oauth2.refreshToken points; a request of 2026-11-20T12:00:00.000Z with it brought no tokens$/,
      ),
    })
    await expect(second).rejects.toMatchObject({ message: expect.not.stringContaining('refresh-') })
  })

  test('that was used elsewhere is refused with what helps', async () => {
    await using system = await startRotating()
    await using folder = await temporaryFolder()

    const opening = read(system, { folder: folder.path, token: 'refresh-old' })

    await expect(opening).rejects.toThrow(/it was used elsewhere or revoked.* where oauth2.refreshToken points$/)
    expect(sent(system)).toEqual(['refresh-old'])
  })

  test('in the configuration wins over what followed an earlier one', async () => {
    await using system = await startTokenSystem({ issues: { refresh_token: 'next' } })
    await using folder = await temporaryFolder()

    await read(system, { folder: folder.path, token: 'refresh-a' })
    await read(system, { folder: folder.path, token: 'refresh-b' })

    expect(sent(system)).toEqual(['refresh-a', 'refresh-b'])
  })

  test('stays if the answer brings no other', async () => {
    await using system = await startTokenSystem({ issues: { expires_in: 60 } })
    await using folder = await temporaryFolder()

    await read(system, { folder: folder.path })
    now = new Date(now.getTime() + hour)
    await read(system, { folder: folder.path })

    expect(sent(system)).toEqual(['refresh-0', 'refresh-0'])
  })

  test('is spent once by two readings at the same time', async () => {
    await using system = await startRotating({ pages: 2 })
    await using folder = await temporaryFolder()
    const opening = { folder: folder.path, clock: systemClock }

    const readings = await Promise.all([read(system, opening), read(system, opening), read(system, opening)])

    expect(readings.map((rows) => rows.length)).toEqual([2, 2, 2])
    expect(sent(system)).toEqual(['refresh-0'])
  })

  test('is spent once when two readings meet a refused access token', async () => {
    await using system = await startRotating()
    await using folder = await temporaryFolder()
    const opening = { folder: folder.path, clock: systemClock }
    await read(system, opening)
    system.revokeTokens()

    await Promise.all([read(system, opening), read(system, opening)])

    expect(sent(system)).toEqual(['refresh-0', 'refresh-1'])
  })

  test('is not used while another process renews it', async () => {
    await using system = await startRotating()
    await using folder = await temporaryFolder()
    await read(system, { folder: folder.path })
    now = new Date(now.getTime() + hour)
    const lockFile = (await tokenFile(folder.path)).replace(/json$/, 'lock')
    using _other = takeFileLock(lockFile, { timeoutMs: 0 })

    const opening = read(system, { folder: folder.path })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreachable',
      message: expect.stringMatching(/has been renewing the same refresh token for 120 s: try again later/),
    })
    expect(sent(system)).toEqual(['refresh-0'])
  })

  test('is not spent if what replaces it cannot be kept', async () => {
    await using system = await startRotating()
    await using folder = await temporaryFolder()
    await writeFile(join(folder.path, 'tokens'), '')

    const opening = read(system, { folder: folder.path })

    await expect(opening).rejects.toThrow(/cannot write to .*tokens.*permissions of dataDir/)
    expect(system.requests).toEqual([])
  })

  test('is not sent again while the system is in trouble, but after a limit of requests', async () => {
    const statuses = [429, 503]
    await using system = await startTokenSystem({
      onToken: (_request, issue) => {
        const status = statuses.shift()
        return status === undefined ? issue : (_, response) => response.writeHead(status).end()
      },
    })
    await using folder = await temporaryFolder()

    const opening = read(system, { folder: folder.path })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreachable',
      message: expect.stringContaining('/token is in trouble (status 503)'),
    })
    expect(sent(system)).toEqual(['refresh-0', 'refresh-0'])
  })

  test.each(['{"version":1', '{"version":1,"refreshToken":"","requestedAt":null,"access":null}', '[]'])(
    'in a damaged file is not guessed: %s',
    async (content) => {
      await using system = await startRotating()
      await using folder = await temporaryFolder()
      await read(system, { folder: folder.path })
      await writeFile(await tokenFile(folder.path), content)

      const opening = read(system, { folder: folder.path })

      await expect(opening).rejects.toThrow(/json is damaged, which holds the newest refresh token: let the HR system/)
      expect(sent(system)).toEqual(['refresh-0'])
    },
  )

  test('that nothing used for more than a year is removed, with drafts that a killed process left', async () => {
    await using system = await startRotating()
    await using folder = await temporaryFolder()
    const [a, b] = ['a', 'b'].map((letter) => `${letter.repeat(64)}.json`)
    const old = [`${a}`, `${a}.12`, `${a}.34.draft`]
    const kept = [`${b}`, 'notes.json', `${a}.old.draft`]
    await mkdir(join(folder.path, 'tokens'))
    for (const name of [...old, ...kept]) await writeFile(join(folder.path, 'tokens', name), '')
    for (const name of [...old, ...kept.slice(1)]) await utimes(join(folder.path, 'tokens', name), 0, 0)

    await read(system, { folder: folder.path })

    const names = await readdir(join(folder.path, 'tokens'))
    expect([...old, ...kept].filter((name) => names.includes(name))).toEqual(kept)
  })

  test('whose access token is still used is not removed, however long ago it was written', async () => {
    await using system = await startTokenSystem({ issues: { refresh_token: 'next' } })
    await using folder = await temporaryFolder()
    await read(system, { folder: folder.path, token: 'refresh-a' })
    const file = await tokenFile(folder.path)
    await utimes(file, 0, 0)

    await read(system, { folder: folder.path, token: 'refresh-a' })
    await read(system, { folder: folder.path, token: 'refresh-b' })

    expect(sent(system)).toEqual(['refresh-a', 'refresh-b'])
    expect(JSON.parse(await readFile(file, 'utf8'))).toMatchObject({ refreshToken: 'next' })
  })
})
