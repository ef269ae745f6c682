import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import { json, makeCertificates, openHttp, rowsOf, startHrServer } from '../../../helpers/sources/hr-server.ts'
import { clientCredentials, peopleOf, startTokenSystem } from '../../../helpers/sources/token-system.ts'

const secrets = { 'oauth2.clientSecret': 'Secret/1+a' }

describe('client credentials', () => {
  test('are exchanged for one token, which reads every page', async () => {
    await using system = await startTokenSystem({ pages: 3 })
    await using folder = await temporaryFolder()
    const settings = { ...peopleOf(system), oauth2: clientCredentials(system) }

    const rows = await rowsOf(await openHttp(settings, { folder: folder.path, secrets }))

    expect(rows).toHaveLength(3)
    expect(system.tokenRequests).toHaveLength(1)
    expect(system.listRequests.map(({ authorization }) => authorization)).toEqual(Array(3).fill('Bearer token-1'))
    expect(Object.fromEntries(system.tokenRequests[0]?.form ?? [])).toEqual({ grant_type: 'client_credentials' })
  })

  test('travel in the header as the standard says, with dashes as they are', async () => {
    await using system = await startTokenSystem()
    await using folder = await temporaryFolder()
    const oauth2 = { ...clientCredentials(system), clientId: 'a-b_c.d' }

    await rowsOf(await openHttp({ ...peopleOf(system), oauth2 }, { folder: folder.path, secrets }))

    const encoded = Buffer.from('a-b_c.d:Secret%2F1%2Ba').toString('base64')
    expect(system.tokenRequests[0]?.headers.authorization).toBe(`Basic ${encoded}`)
  })

  test('travel in the body with scope and parameters, of which each may be a secret', async () => {
    await using system = await startTokenSystem()
    await using folder = await temporaryFolder()
    const oauth2 = {
      ...clientCredentials(system),
      clientSecretIn: 'body',
      scope: 'people:read',
      parameters: { audience: 'set', resource: 'hr' },
    } as const
    const further = { 'oauth2.clientId': 'client-2', 'oauth2.parameters.audience': 'hr-api' }

    await rowsOf(
      await openHttp({ ...peopleOf(system), oauth2 }, { folder: folder.path, secrets: { ...secrets, ...further } }),
    )

    expect(Object.fromEntries(system.tokenRequests[0]?.form ?? [])).toEqual({
      grant_type: 'client_credentials',
      client_id: 'client-2',
      client_secret: 'Secret/1+a',
      scope: 'people:read',
      audience: 'hr-api',
      resource: 'hr',
    })
    expect(system.tokenRequests[0]?.headers.authorization).toBeUndefined()
  })

  test('go to another host without the headers of the list, and to the same host with them', async () => {
    await using system = await startTokenSystem()
    await using other = await startTokenSystem({ onToken: () => json({ access_token: 'token-1' }) })
    await using folder = await temporaryFolder()
    const headers = { 'X-Account-Token': 'account-secret' }
    const open = async (tokens: typeof system) => {
      const settings = { ...peopleOf(system), headers, oauth2: clientCredentials(tokens) }
      return await rowsOf(await openHttp(settings, { folder: folder.path, secrets }))
    }

    await open(system)
    await open(other)

    expect(system.tokenRequests[0]?.headers['x-account-token']).toBe('account-secret')
    expect(other.tokenRequests[0]?.headers['x-account-token']).toBeUndefined()
  })

  test('are presented together with a client certificate, to token endpoint and list', async () => {
    await using folder = await temporaryFolder()
    const { server, authorityFile, clientFile, clientKey } = await makeCertificates(folder.path)
    const tls = { ...server, requestCert: true, rejectUnauthorized: true }
    await using system = await startTokenSystem({ tls })
    const settings = {
      ...peopleOf(system),
      ca: authorityFile,
      clientCertificate: { certificate: clientFile, key: 'set', passphrase: 'set' },
      oauth2: clientCredentials(system),
    }
    const certificateSecrets = { 'clientCertificate.key': clientKey, 'clientCertificate.passphrase': 'open sesame' }

    const rows = await rowsOf(
      await openHttp(settings, { folder: folder.path, secrets: { ...secrets, ...certificateSecrets } }),
    )
    const without = openHttp({ ...settings, clientCertificate: undefined }, { folder: folder.path, secrets })

    expect(rows).toHaveLength(1)
    await expect(without).rejects.toMatchObject({ message: expect.stringContaining('/token ') })
    expect(system.tokenRequests).toHaveLength(1)
  })
})

describe('a token', () => {
  test.each([
    ['states a lifetime in a text', { token_type: 'bearer', expires_in: '100' }, 2],
    ['states a lifetime', { token_type: 'Bearer', expires_in: 100 }, 2],
    ['states no lifetime', { token_type: 'Bearer' }, 1],
    ['states neither lifetime nor type', {}, 1],
    ['states a lifetime of nothing', { expires_in: 0 }, 1],
    ['states no usable lifetime', { expires_in: 'soon' }, 1],
  ])('that %s is replaced in time, or when it is refused', async (_case, issues, requests) => {
    let now = new Date('2026-11-20T12:00:00Z')
    // 10 % of the lifetime are left for the request and for clocks that differ.
    const onPage = (number: number) => {
      if (number === 1) now = new Date(now.getTime() + 89_000)
      if (number === 2) now = new Date(now.getTime() + 1000)
    }
    await using system = await startTokenSystem({ pages: 3, issues, onPage })
    await using folder = await temporaryFolder()
    const settings = { ...peopleOf(system), oauth2: clientCredentials(system) }

    await rowsOf(await openHttp(settings, { folder: folder.path, secrets, options: { now: () => now } }))

    expect(system.tokenRequests).toHaveLength(requests)
    const last = `Bearer token-${requests}`
    expect(system.listRequests.map(({ authorization }) => authorization)).toEqual([
      'Bearer token-1',
      'Bearer token-1',
      last,
    ])
  })

  test('that is refused in the middle of a list is replaced, and the same page is requested again', async () => {
    let isRevoked = false
    const onPage = (number: number, { revokeTokens }: { revokeTokens: () => void }) => {
      if (number === 2 && !isRevoked) revokeTokens()
      if (number === 2) isRevoked = true
    }
    await using system = await startTokenSystem({ pages: 3, onPage })
    await using folder = await temporaryFolder()
    const settings = { ...peopleOf(system), oauth2: clientCredentials(system) }

    const rows = await rowsOf(await openHttp(settings, { folder: folder.path, secrets }))

    expect(rows).toHaveLength(3)
    expect(system.listRequests.map(({ path, authorization }) => [path, authorization])).toEqual([
      ['/people', 'Bearer token-1'],
      ['/people?page=2', 'Bearer token-1'],
      ['/people?page=2', 'Bearer token-2'],
      ['/people?page=3', 'Bearer token-2'],
    ])
  })

  test('that is refused as a new one too ends the reading, without quoting anything', async () => {
    await using system = await startTokenSystem({ onPage: (_number, { revokeTokens }) => revokeTokens() })
    await using folder = await temporaryFolder()
    const settings = { ...peopleOf(system), oauth2: clientCredentials(system) }

    const opening = openHttp(settings, { folder: folder.path, secrets })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(/\/people does not accept a new token either \(status 401\): check .*scope/),
    })
    await expect(opening).rejects.toMatchObject({ message: expect.not.stringMatching(/token-\d|token-secret/) })
    expect(system.tokenRequests).toHaveLength(2)
    expect(system.listRequests).toHaveLength(2)
  })

  test('without the scope of the list is told apart', async () => {
    await using system = await startTokenSystem()
    await using list = await startHrServer((_request, response) =>
      response.writeHead(403, { 'www-authenticate': 'Bearer realm="hr", error="insufficient_scope"' }).end(),
    )
    await using folder = await temporaryFolder()
    const settings = { ...peopleOf(list), oauth2: clientCredentials(system) }

    const opening = openHttp(settings, { folder: folder.path, secrets })

    await expect(opening).rejects.toThrow(/wants a scope that the token lacks .*name the scope of this list in scope/)
  })
})

test('a static credential that is refused is not sent again', async () => {
  await using server = await startHrServer((_request, response) => response.writeHead(401).end())
  await using folder = await temporaryFolder()

  const opening = openHttp({ url: server.url, bearer: 'set' }, { folder: folder.path, secrets: { bearer: 'key' } })

  await expect(opening).rejects.toThrow('does not accept the credentials (status 401)')
  expect(server.requests).toHaveLength(1)
})
