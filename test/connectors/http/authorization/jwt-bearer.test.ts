import { jwtVerify } from 'jose'
import { describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../../helpers/sources/folders.ts'
import { openHttp, rowsOf } from '../../../helpers/sources/hr-server.ts'
import { ellipticKeys, rsaKeys } from '../../../helpers/sources/signing-keys.ts'
import { peopleOf, startTokenSystem, type TokenSystem } from '../../../helpers/sources/token-system.ts'

const now = new Date('2026-11-20T12:00:00Z')
const rsa = rsaKeys()
const elliptic = ellipticKeys()

function jwtBearer({ url }: TokenSystem) {
  const parties = { clientId: 'client-1', subject: 'reader@acme.example', audience: 'https://hr.example/' }
  return { grant: 'jwtBearer', tokenUrl: `${url}/token`, ...parties, privateKey: 'set' } as const
}

describe('a JSON Web Token', () => {
  test.each([
    ['RS256', rsa],
    ['RS512', rsa],
    ['PS256', rsa],
    ['ES256', elliptic],
  ] as const)('signed with %s states who asks, for whom, and for how long', async (algorithm, keys) => {
    await using system = await startTokenSystem({ pages: 2 })
    await using folder = await temporaryFolder()
    const oauth2 = { ...jwtBearer(system), algorithm, keyId: 'key-7', scope: 'people' }
    const secrets = { 'oauth2.privateKey': keys.pem }

    await rowsOf(await openHttp({ ...peopleOf(system), oauth2 }, { folder: folder.path, secrets }))

    const form = system.tokenRequests[0]?.form
    const checks = { issuer: 'client-1', audience: 'https://hr.example/', currentDate: now }
    const { payload, protectedHeader } = await jwtVerify(form?.get('assertion') ?? '', keys.publicKey, checks)
    const issuedAt = now.getTime() / 1000
    expect(payload).toMatchObject({ sub: 'reader@acme.example', iat: issuedAt, exp: issuedAt + 300 })
    expect(payload.jti).toMatch(/^[0-9a-f-]{36}$/)
    expect(protectedHeader).toEqual({ alg: algorithm, kid: 'key-7', typ: 'JWT' })
    expect(form?.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
    expect([form?.get('client_id'), form?.get('scope')]).toEqual(['client-1', 'people'])
    expect(system.tokenRequests).toHaveLength(1)
  })

  test('takes issuer and subject from secrets, and authenticates the client if it has a secret', async () => {
    await using system = await startTokenSystem()
    await using folder = await temporaryFolder()
    const oauth2 = { ...jwtBearer(system), issuer: 'set', lifetimeSeconds: 60, clientSecret: 'set' }
    const secrets = {
      'oauth2.privateKey': rsa.pem,
      'oauth2.issuer': 'issuer-1',
      'oauth2.subject': 'user-1',
      'oauth2.clientSecret': 'hidden',
    }

    await rowsOf(await openHttp({ ...peopleOf(system), oauth2 }, { folder: folder.path, secrets }))

    const { form, headers } = system.tokenRequests[0] ?? expect.fail()
    const { payload } = await jwtVerify(form.get('assertion') ?? '', rsa.publicKey, { currentDate: now })
    expect(payload).toMatchObject({ iss: 'issuer-1', sub: 'user-1', exp: now.getTime() / 1000 + 60 })
    expect(headers.authorization).toBe(`Basic ${Buffer.from('client-1:hidden').toString('base64')}`)
  })

  test('is made anew for each token', async () => {
    await using system = await startTokenSystem({ onPage: (_number, { revokeTokens }) => revokeTokens() })
    await using folder = await temporaryFolder()
    const settings = { ...peopleOf(system), oauth2: jwtBearer(system) }

    const opening = openHttp(settings, { folder: folder.path, secrets: { 'oauth2.privateKey': rsa.pem } })

    await expect(opening).rejects.toThrow('does not accept a new token either')
    expect(new Set(system.tokenRequests.map(({ form }) => form.get('assertion'))).size).toBe(2)
  })

  test.each([
    [-120_000, /is 120 s slow, compared with that server: set it$/],
    [120_000, /is 120 s fast, compared with that server: set it$/],
    [30_000, /that it knows the key$/],
  ])('that is refused while the clocks differ by %i ms says so', async (differenceMs, expected) => {
    await using system = await startTokenSystem({
      onToken: () => (_request, response) => {
        const date = new Date(now.getTime() - differenceMs).toUTCString()
        response.writeHead(400, { 'content-type': 'application/json', date }).end('{"error":"invalid_grant"}')
      },
    })
    await using folder = await temporaryFolder()
    const settings = { ...peopleOf(system), oauth2: jwtBearer(system) }

    const opening = openHttp(settings, { folder: folder.path, secrets: { 'oauth2.privateKey': rsa.pem } })

    await expect(opening).rejects.toThrow(/does not accept the assertion \(invalid_grant\): check issuer, subject/)
    await expect(opening).rejects.toThrow(expected)
  })
})

describe('a private key that', () => {
  const encrypted = '-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n'

  test.each([
    ['is no PEM', 'hidden', 'RS256', /is no private key in PEM: write a text that begins with/],
    ['is cut', rsa.pem.slice(0, 400), 'RS256', /is no private key in PEM/],
    ['is public', String(rsa.publicKey.export({ type: 'spki', format: 'pem' })), 'RS256', /is no private key in PEM/],
    ['has a passphrase', encrypted, 'RS256', /is protected by a passphrase: write it without one/],
    ['is of another kind', elliptic.pem, 'RS256', /is no key for RS256: write an RSA key/],
    ['is of another kind', rsa.pem, 'ES256', /is no key for ES256: write a P-256 key/],
    ['is short', rsaKeys(1024).pem, 'RS256', /has fewer than 2048 bits/],
  ] as const)('%s is refused before anything is sent: %#', async (_case, pem, algorithm, expected) => {
    await using system = await startTokenSystem()
    await using folder = await temporaryFolder()
    const settings = { ...peopleOf(system), oauth2: { ...jwtBearer(system), algorithm } }

    const opening = openHttp(settings, { folder: folder.path, secrets: { 'oauth2.privateKey': pem } })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(expected),
    })
    await expect(opening).rejects.not.toHaveProperty('cause')
    await expect(opening).rejects.toMatchObject({ message: expect.not.stringContaining('MII') })
    expect(system.requests).toEqual([])
  })
})
