import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import {
  type Answer,
  type HttpSettings,
  json,
  openHttp,
  rowsOf,
  startHrServer,
} from '../../../helpers/sources/hr-server.ts'
import { peopleOf, startTokenSystem, type TokenSystem } from '../../../helpers/sources/token-system.ts'

const secrets = {
  'login.body.client_id': 'id-1',
  'login.body.nested.secret': 'Hidden & 1',
  'login.body.secret': 'Hidden & 1',
}

function login({ url }: TokenSystem) {
  const body = { client_id: 'set', nested: { secret: 'set', count: 2 }, plain: 'acme' }
  return { url: `${url}/token`, body, token: '/access_token' }
}

async function read(system: TokenSystem, settings: HttpSettings) {
  await using folder = await temporaryFolder()
  return await rowsOf(await openHttp({ ...peopleOf(system), ...settings }, { folder: folder.path, secrets }))
}

describe('a login', () => {
  test('sends its body with the secrets as JSON, and the token with every page', async () => {
    await using system = await startTokenSystem({ pages: 3 })

    const rows = await read(system, { login: login(system) })

    expect(rows).toHaveLength(3)
    expect(system.tokenRequests).toHaveLength(1)
    const { body, headers } = system.tokenRequests[0] ?? expect.fail()
    expect(JSON.parse(body)).toEqual({ client_id: 'id-1', nested: { secret: 'Hidden & 1', count: 2 }, plain: 'acme' })
    expect(headers).toMatchObject({ 'content-type': 'application/json', accept: 'application/json' })
    expect(new Set(system.listRequests.map(({ authorization }) => authorization))).toEqual(new Set(['Bearer token-1']))
  })

  test('sends its body as a form', async () => {
    await using system = await startTokenSystem()
    const body = { client_id: 'set', secret: 'set', remember: true, none: null }

    await read(system, { login: { ...login(system), body, encoding: 'form' } })

    const { form, headers } = system.tokenRequests[0] ?? expect.fail()
    expect(headers['content-type']).toBe('application/x-www-form-urlencoded')
    expect(Object.fromEntries(form)).toEqual({ client_id: 'id-1', secret: 'Hidden & 1', remember: 'true', none: '' })
  })

  test('may be a GET, and the token may travel in another header with another prefix', async () => {
    await using tokens = await startTokenSystem({ onToken: () => json({ data: { token: 'abc' } }) })
    await using list = await startHrServer(json([{ id: 1 }]))
    await using folder = await temporaryFolder()
    const settings = {
      url: list.url,
      login: { url: `${tokens.url}/token`, method: 'GET', token: '/data/token', header: 'X-Session', prefix: 'sid=' },
    } as const

    await rowsOf(await openHttp(settings, { folder: folder.path }))

    expect(list.requests[0]?.headers).toMatchObject({ 'x-session': 'sid=abc' })
    expect(tokens.tokenRequests[0]?.body).toBe('')
  })

  test('is repeated when the token is refused in the middle of the list', async () => {
    let isOver = false
    await using system = await startTokenSystem({
      pages: 2,
      onPage: (number, { revokeTokens }) => {
        if (number === 2 && !isOver) revokeTokens()
        isOver = number === 2
      },
    })

    const rows = await read(system, { login: login(system) })

    expect(rows).toHaveLength(2)
    expect(system.listRequests.map(({ path }) => path)).toEqual(['/people', '/people?page=2', '/people?page=2'])
    expect(system.tokenRequests).toHaveLength(2)
  })

  test.each<[string, Answer, RegExp]>([
    [
      'no token',
      json({ message: 'Hidden' }),
      /answers without a token at \/access_token: check the credentials in login.body/,
    ],
    ['an object as token', json({ access_token: { Hidden: 1 } }), /answers without a token at \/access_token/],
    ['an empty token', json({ access_token: '' }), /answers without a token at \/access_token/],
    ['a token with a line end', json({ access_token: 'Hidden\n' }), /a token that no header can carry/],
    [
      'a page',
      (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end('Hidden'),
      /a login page/,
    ],
    ['no JSON', json('Hidden'), /is not valid JSON/],
    [
      '401',
      (_request, response) => response.writeHead(401).end('Hidden'),
      /does not accept the login \(status 401\): check the credentials, and whether they have expired/,
    ],
    ['422', (_request, response) => response.writeHead(422).end('Hidden'), /does not accept the login \(status 422\)/],
    [
      'a redirect',
      (_request, response) => response.writeHead(302, { location: 'https://elsewhere.example/' }).end(),
      /redirects \(status 302\): write the address that it redirects to as login.url/,
    ],
  ])('that answers with %s is refused with what helps', async (_case, answer, expected) => {
    await using system = await startTokenSystem({ onToken: () => answer })

    const reading = read(system, { login: login(system) })

    await expect(reading).rejects.toMatchObject({ code: 'source_unreadable', message: expect.stringMatching(expected) })
    await expect(reading).rejects.toMatchObject({ message: expect.not.stringContaining('Hidden') })
    expect([system.tokenRequests.length, system.listRequests.length]).toEqual([1, 0])
  })

  test('that answers with 201 is a success', async () => {
    await using system = await startTokenSystem({
      onToken: (_request, issue) => (request, response) => {
        const { writeHead } = response
        response.writeHead = ((_status: number, headers: object) =>
          writeHead.call(response, 201, headers as never)) as never
        issue(request, response)
      },
    })

    expect(await read(system, { login: login(system) })).toHaveLength(1)
  })
})
