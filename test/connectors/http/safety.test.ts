import type { LookupAddress } from 'node:dns'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { type Answer, json, openHttp, rowsOf, startHrServer } from '../../helpers/sources/hr-server.ts'

const here: LookupAddress = { address: '127.0.0.1', family: 4 }
const secrets = { bearer: 'token-of-ours' }
const unreadable = { code: 'source_unreadable' }

function redirect(location: string, status = 302): Answer {
  return (_request, response) => response.writeHead(status, { location }).end()
}

describe('a redirect', () => {
  test.each([301, 302, 303, 307, 308])(
    'within the host is followed (%i), also with the credentials',
    async (status) => {
      await using server = await startHrServer((request, response) =>
        request.url === '/old' ? redirect('/new?x=1', status)(request, response) : json([{ id: 1 }])(request, response),
      )
      await using folder = await temporaryFolder()

      const reading = await openHttp({ url: `${server.url}/old`, bearer: 'set' }, { folder: folder.path, secrets })

      expect(await rowsOf(reading)).toHaveLength(1)
      expect(server.requests.map(({ path }) => path)).toEqual(['/old', '/new?x=1'])
      expect(server.requests[1]?.headers.authorization).toBe('Bearer token-of-ours')
    },
  )

  test.each([
    ['another port', (port: number) => `http://127.0.0.1:${port}/people`],
    ['another name of the same machine', (port: number) => `http://localhost:${port}/people`],
    ['another scheme', (port: number) => `https://127.0.0.1:${port}/people`],
    ['no network at all', () => 'file:///etc/passwd'],
    ['a script', () => 'data:text/plain,1'],
  ])('to %s is refused, and nothing is sent there', async (_case, locationOf) => {
    await using other = await startHrServer(json([{ id: 1 }]))
    await using server = await startHrServer(redirect(locationOf(other.port)))
    await using folder = await temporaryFolder()

    const opening = openHttp({ url: server.url, bearer: 'set' }, { folder: folder.path, secrets })

    await expect(opening).rejects.toMatchObject({
      ...unreadable,
      message: expect.stringContaining('away from http://127.0.0.1'),
    })
    expect(other.requests).toEqual([])
  })

  test.each([
    ['for ever', redirect('/again'), 'redirects more than 5 times', 6],
    ['to nowhere', redirect('http://'), 'redirects to nowhere', 1],
    [
      'without saying where',
      ((_request, response) => response.writeHead(302).end()) as Answer,
      'redirects to nowhere',
      1,
    ],
  ])('%s is refused', async (_case, answer, expected, requests) => {
    await using server = await startHrServer(answer)
    await using folder = await temporaryFolder()

    const opening = openHttp({ url: server.url }, { folder: folder.path })

    await expect(opening).rejects.toMatchObject({ ...unreadable, message: expect.stringContaining(expected) })
    expect(server.requests).toHaveLength(requests)
  })
})

test('a next page on another host is refused, and nothing is sent there', async () => {
  await using other = await startHrServer(json({ people: [] }))
  await using server = await startHrServer(json({ people: [], next: `${other.url}/people` }))
  await using folder = await temporaryFolder()
  const settings = { url: server.url, records: '/people', next: '/next', bearer: 'set' }

  const opening = openHttp(settings, { folder: folder.path, secrets })

  await expect(opening).rejects.toThrow(/page 2 of .* leads to http:\/\/127.0.0.1:\d+, away from/)
  expect(other.requests).toEqual([])
})

describe('a host in a private network', () => {
  test.each([
    ['the machine itself', [here]],
    ['the metadata of a cloud', [{ address: '169.254.169.254', family: 4 }]],
    [
      'an address among public ones',
      [
        { address: '1.1.1.1', family: 4 },
        { address: '::ffff:10.0.0.1', family: 6 },
      ],
    ],
  ])('is refused by its addresses: %s', async (_case, addresses) => {
    await using server = await startHrServer(json([{ id: 1 }]))
    await using folder = await temporaryFolder()
    const settings = { url: `http://hr.example:${server.port}/`, insecure: true, allowPrivate: false }

    const opening = openHttp(settings, { folder: folder.path, resolve: async () => addresses })

    await expect(opening).rejects.toMatchObject({
      ...unreadable,
      message: expect.stringMatching(
        /^hr.example leads to .*, which is no address of the public internet: .* allowPrivate/,
      ),
    })
    expect(server.requests).toEqual([])
  })

  test.each(['127.0.0.1', '2130706433', '0x7f.1', '[::1]', '[::ffff:127.0.0.1]', '0'])(
    'is refused when it is written as %s',
    async (host) => {
      await using folder = await temporaryFolder()
      const settings = { url: `https://${host}/`, allowPrivate: false }

      const opening = openHttp(settings, { folder: folder.path })

      await expect(opening).rejects.toThrow(/is no address of the public internet/)
    },
  )

  test('is read where that is allowed', async () => {
    await using server = await startHrServer(json([{ id: 1 }]))
    await using folder = await temporaryFolder()
    const settings = { url: `http://hr.example:${server.port}/`, insecure: true, allowPrivate: true }

    const reading = await openHttp(settings, { folder: folder.path, resolve: async () => [here] })

    expect(await rowsOf(reading)).toHaveLength(1)
    expect(server.requests[0]?.headers.host).toBe(`hr.example:${server.port}`)
  })

  // A name server that changes its answer after the check would otherwise lead the connection to where it likes.
  test('is connected to by the addresses that were checked, whatever its name means next', async () => {
    await using server = await startHrServer(json([{ id: 1 }]))
    await using folder = await temporaryFolder()
    const answers = [{ address: '127.0.0.2', family: 4 }]
    const resolve = async () => [answers.shift() ?? here]
    const settings = { url: `http://hr.example:${server.port}/`, insecure: true, connectTimeoutMs: 300 }

    const opening = openHttp(settings, { folder: folder.path, resolve })

    await expect(opening).rejects.toMatchObject({ code: 'source_unreachable' })
    expect(server.requests).toEqual([])
  })

  test('is asked for once, however many pages it gives', async () => {
    await using server = await startHrServer((request, response) => {
      response.shouldKeepAlive = false
      json({
        people: [{ id: request.url }],
        next: request.url === '/3' ? null : `/${Number(request.url?.slice(1)) + 1}`,
      })(request, response)
    })
    await using folder = await temporaryFolder()
    const hosts: string[] = []
    const resolve = async (host: string) => {
      hosts.push(host)
      return [here]
    }
    const settings = { url: `http://hr.example:${server.port}/1`, insecure: true, records: '/people', next: '/next' }

    const reading = await openHttp(settings, { folder: folder.path, resolve })

    expect(await rowsOf(reading)).toHaveLength(3)
    expect(hosts).toEqual(['hr.example'])
  })

  test('counts as this machine only if it is, so that http:// stays on it', async () => {
    await using folder = await temporaryFolder()
    const resolve = async () => [{ address: '10.0.0.1', family: 4 }]

    const opening = openHttp({ url: 'http://localhost:1/', allowPrivate: true }, { folder: folder.path, resolve })

    await expect(opening).rejects.toThrow('localhost is not this machine: write https:// in url')
  })
})
