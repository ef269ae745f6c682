import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { pointer } from '../../src/connectors/json/cells.ts'
import { generateClientKeys } from '../helpers/hr-systems/client-keys.ts'
import type { Fault } from '../helpers/hr-systems/faults.ts'
import { inventRoster } from '../helpers/hr-systems/roster.ts'
import { verifyAssertion } from '../helpers/hr-systems/saml.ts'
import { requireSystem } from '../helpers/hr-systems/systems.ts'
import { temporaryFolder } from '../helpers/sources/folders.ts'
import { type Certificates, makeCertificates } from '../helpers/sources/hr-server.ts'
import { noon, openSystem } from './opened-system.ts'
import { type PlainResponse, readPlainly, requestPlainly, signedAssertion } from './plain-client.ts'
import type { SourceSettings } from './systems.ts'

const size = 250
const deel = requireSystem('deel-api')
const everybody = inventRoster(size).map(deel.keyOf)
const [pageOne, pageTwo, pageThree] = [everybody.slice(0, 100), everybody.slice(100, 200), everybody.slice(200)]

const opened = new AsyncDisposableStack()
let certificates: Certificates

beforeAll(async () => {
  const { path } = opened.use(await temporaryFolder())
  certificates = await makeCertificates(path)
})

afterAll(() => opened.disposeAsync())

describe('a fault changes what a reader of three pages gets', () => {
  const cases: readonly [Fault, readonly string[]][] = [
    [{ kind: 'recordsCut', page: 3 }, everybody.slice(0, -1)],
    [{ kind: 'pageDoubled', page: 3 }, [...everybody, ...pageThree]],
    [{ kind: 'pagesSwapped', page: 1 }, [...pageTwo, ...pageOne, ...pageThree]],
    [{ kind: 'pageRepeated', page: 2 }, [...pageOne, ...pageOne, ...pageThree]],
    [{ kind: 'pageEmpty', page: 2 }, pageOne],
    [{ kind: 'personRemoved', page: 2 }, [...pageOne, ...everybody.slice(101)]],
    [{ kind: 'personMoved', page: 2 }, [...pageOne, ...everybody.slice(99, -1)]],
    [{ kind: 'personAdded', page: 2 }, [...pageOne, ...everybody.slice(99)]],
  ]

  test.each(cases.map(([fault, keys]) => [fault.kind, fault, keys] as const))('%s', async (_kind, fault, keys) => {
    await using system = await openSystem('deel-api', { people: size, faults: [{ ...fault, times: 2 }] })

    const records = await readPlainly(system.settings, noon)

    expect(records.map((record) => pointer(record, '/id'))).toEqual(keys)
    expect(system.server.faultCounts()[0]).toBeGreaterThan(0)
  })

  test('personRemoved moves nobody in a list whose tokens stand for people', async () => {
    const faults: readonly Fault[] = [{ kind: 'personRemoved', page: 2, times: 1 }]
    await using system = await openSystem('rippling-api', { people: size, faults })

    const records = await readPlainly(system.settings, noon)

    expect(records).toHaveLength(size)
    expect(system.server.faultCounts()).toEqual([1])
  })

  test.each([
    [{ kind: 'totalOff', by: 1 } as const, 251],
    [{ kind: 'totalOff', by: -1 } as const, 249],
    [{ kind: 'totalMissing' } as const, undefined],
  ])('%o', async (fault, total) => {
    await using system = await openSystem('deel-api', { people: size, faults: [{ ...fault, page: 1 }] })

    const { text } = await requestPlainly(system.settings, noon)

    expect(JSON.parse(text).page.total_rows).toBe(total)
  })
})

describe('a fault in place of a page', () => {
  test.each<[Fault, Partial<PlainResponse>]>([
    [{ kind: 'status', status: 500, page: 1, times: 1 }, { status: 500 }],
    [{ kind: 'unauthorized', page: 1, times: 1 }, { status: 401 }],
    [
      { kind: 'loginPage', page: 1, times: 1 },
      { status: 302, headers: { location: '/login' } },
    ],
    [
      { kind: 'html', page: 1, times: 1 },
      { status: 200, headers: { 'content-type': 'text/html; charset=utf-8' } },
    ],
    [
      { kind: 'tooManyRequests', wait: 'seconds', seconds: 7, page: 1, times: 1 },
      { status: 429, headers: { 'retry-after': '7' } },
    ],
    [
      { kind: 'tooManyRequests', wait: 'date', seconds: 7, page: 1, times: 1 },
      { status: 429, headers: { 'retry-after': 'Fri, 20 Nov 2026 12:00:07 GMT' } },
    ],
    [
      { kind: 'tooManyRequests', wait: 'reset', seconds: 7, page: 1, times: 1 },
      { status: 429, headers: { 'x-ratelimit-reset': '1795176007' } },
    ],
  ])('%o happens as often as it should', async (fault, answer) => {
    await using system = await openSystem('deel-api', { people: 7, faults: [fault] })

    const first = await requestPlainly(system.settings, noon)
    const second = await requestPlainly(system.settings, noon)

    expect(first).toMatchObject(answer)
    expect(JSON.parse(second.text).data).toHaveLength(7)
  })

  test('a text that is cut is no JSON, and as long as its headers say', async () => {
    await using system = await openSystem('deel-api', { people: 7, faults: [{ kind: 'textCut', page: 1 }] })

    const { text, headers } = await requestPlainly(system.settings, noon)

    expect(() => JSON.parse(text)).toThrow(SyntaxError)
    expect(headers['content-length']).toBe(String(Buffer.byteLength(text)))
  })

  test('a request that waits without saying for how long has no header for it', async () => {
    const faults: readonly Fault[] = [{ kind: 'tooManyRequests', wait: 'nothing', seconds: 7, page: 1 }]
    await using system = await openSystem('ukg-pro-api', { people: 7, faults })

    const { status, headers } = await requestPlainly(system.settings, noon)

    expect(status).toBe(429)
    expect(Object.keys(headers).filter((name) => /retry|limit/.test(name))).toEqual([])
  })
})

describe('tokens', () => {
  test('that were revoked in the middle of a list are replaced by new ones', async () => {
    const faults: readonly Fault[] = [{ kind: 'unauthorized', page: 2, times: 1 }]
    await using system = await openSystem('personio-api', { people: size, faults })

    await expect(readPlainly(system.settings, noon)).rejects.toThrow('page 2: 401')
    expect(await readPlainly(system.settings, noon)).toHaveLength(size)
    expect(system.server.tokenRequests()).toBe(2)
  })

  test('end with their time', async () => {
    let now = noon.getTime()
    await using system = await openSystem('personio-api', { people: 7, now: () => now })
    const token = system.server.tokens.issue(60)
    const settings = { ...system.settings, login: undefined, bearer: token }

    const before = await requestPlainly(settings, noon)
    now += 61_000
    const after = await requestPlainly(settings, noon)

    expect([before.status, after.status]).toEqual([200, 401])
  })

  test('for refreshing are accepted once', async () => {
    await using system = await openSystem('gusto-api', { people: 7 })

    expect(await readPlainly(system.settings, noon)).toHaveLength(7)
    await expect(readPlainly(system.settings, noon)).rejects.toThrow('the refresh token was used or revoked')
  })

  test('of ADP, and its list, are refused to a client without a certificate', async () => {
    await using system = await openSystem('adp-api', { people: 7, certificates })
    const { clientCertificate: _, ...settings } = system.settings

    await expect(readPlainly(settings, noon)).rejects.toThrow('client ssl certificate was not presented')
    const direct = await requestPlainly(
      { ...settings, oauth2: undefined, bearer: system.server.tokens.issue(60) },
      noon,
    )
    expect(direct.status).toBe(401)
  })

  test.each([
    ['another key', { privateKey: generateClientKeys().privateKey }, 'signature verification failed'],
    ['another audience', { audience: 'https://elsewhere.example/' }, 'unexpected "aud" claim value'],
    ['another issuer', { issuer: 'somebody' }, 'unexpected "iss" claim value'],
  ])('for a JSON Web Token of %s are refused', async (_case, changed, reason) => {
    await using system = await openSystem('oracle-hcm-api with a signed token', { people: 7 })

    const oauth2 = { ...(system.settings.oauth2 as object), ...changed }

    await expect(readPlainly({ ...system.settings, oauth2 }, noon)).rejects.toThrow(JSON.stringify(reason).slice(1, -1))
  })

  test('for a JSON Web Token of yesterday are refused', async () => {
    await using system = await openSystem('oracle-hcm-api with a signed token', { people: 7 })

    const yesterday = new Date(noon.getTime() - 86_400_000)

    await expect(readPlainly(system.settings, yesterday)).rejects.toThrow('timestamp check failed')
  })
})

describe('a SAML assertion', () => {
  const keys = generateClientKeys()
  const [issuer, subject, audience, tokenUrl] = [
    'client',
    'rollcall',
    'www.successfactors.com',
    'https://hr/oauth/token',
  ]
  const stated = {
    clientId: 'client',
    privateKey: keys.privateKey,
    issuer,
    subject,
    audience,
    tokenUrl,
    lifetimeSeconds: 300,
  }
  const expected = {
    publicKey: keys.publicKey,
    clientId: 'client',
    issuer,
    subject,
    audience,
    recipient: tokenUrl,
    now: noon.getTime(),
  }

  test('is accepted as it should be', async () => {
    expect(await verifyAssertion(signedAssertion(stated, noon), expected)).toBeNull()
  })

  test.each([
    ['another key', { privateKey: generateClientKeys().privateKey }, 'the signature is missing or wrong'],
    ['another issuer', { issuer: 'x' }, 'the issuer is unknown'],
    ['another user', { subject: 'x' }, 'the user is unknown'],
    ['another audience', { audience: 'x' }, 'the audience is another one'],
    ['another recipient', { tokenUrl: 'https://x/' }, 'the recipient is another one'],
    ['another client', { clientId: 'x' }, 'the client is unknown'],
  ])('with %s is refused', async (_case, changed, problem) => {
    expect(await verifyAssertion(signedAssertion({ ...stated, ...changed }, noon), expected)).toBe(problem)
  })

  test.each([
    ['after its end', 301, 'the assertion is not valid at this time'],
    ['before its beginning', -60, 'the assertion is not valid at this time'],
  ])('%s is refused', async (_case, seconds, problem) => {
    const now = noon.getTime() + seconds * 1000

    expect(await verifyAssertion(signedAssertion(stated, noon), { ...expected, now })).toBe(problem)
  })

  test('that was changed after it was signed, or was never signed, is refused', async () => {
    const xml = Buffer.from(signedAssertion(stated, noon), 'base64').toString()
    const changed = xml.replace('>rollcall<', '>admin<')
    const unsigned = xml.replace(/<Signature[\s\S]*<\/Signature>/, '')

    for (const text of [changed, unsigned, `<evil>${unsigned}</evil>`])
      expect(await verifyAssertion(Buffer.from(text).toString('base64'), expected)).toMatch(/^the signature/)
  })
})

describe('a request that is wrong', () => {
  type Change = (settings: SourceSettings) => SourceSettings
  const withQuery =
    (query: string): Change =>
    (settings) => ({ ...settings, url: settings.url + (settings.url.includes('?') ? '&' : '?') + query })
  const without =
    (name: string): Change =>
    ({ headers = {}, ...rest }) => ({
      ...rest,
      headers: Object.fromEntries(Object.entries(headers as object).filter(([one]) => one !== name)),
    })
  const anAddress: Change = (settings) => ({ ...settings, url: `${settings.url.split('?')[0]}/elsewhere` })

  test.each<[string, string, Change, number]>([
    ['personio-api', 'with pages that are too large', withQuery('limit=101'), 400],
    ['deel-api', 'with pages that are too large', withQuery('limit=101'), 400],
    ['deel-api', 'with a position that is no number', withQuery('offset=x'), 400],
    ['kombo', 'with pages that are too large', withQuery('page_size=251'), 400],
    ['kombo', 'with a token of its own', withQuery('cursor=x'), 400],
    ['oracle-hcm-api', 'with an unknown parameter', withQuery('per_page=5'), 400],
    ['successfactors-api', 'with an unknown option', withQuery('$size=5'), 400],
    ['merge', 'without the account', without('X-Account-Token'), 401],
    ['kombo', 'without the integration', without('X-Integration-Id'), 401],
    ['ukg-pro-api', 'without the second key', without('US-Customer-Api-Key'), 401],
    ['finch', 'without a version', without('Finch-API-Version'), 400],
    ['workday-raas-json', 'for a report that does not exist', anAddress, 404],
    ['hibob-api', 'with another method', (settings) => ({ ...settings, method: 'GET', body: undefined }), 405],
    ['hibob-api', 'without fields', (settings) => ({ ...settings, body: {} }), 400],
  ])('is refused by %s %s', async (name, _case, change, status) => {
    await using system = await openSystem(name, { people: 7 })

    const response = await requestPlainly(change(system.settings), noon)

    expect(response.status).toBe(status)
  })

  test.each<[string, Change]>([
    ['gusto-api', withQuery('per=1000')],
    ['merge', withQuery('page_size=1000')],
    ['scim', withQuery('count=1000')],
    ['oracle-hcm-api', withQuery('limit=1000')],
    ['ukg-pro-api', withQuery('per_page=1000')],
  ])('for pages that are too large gets the largest from %s', async (name, change) => {
    await using system = await openSystem(name, { people: 600 })
    const { maxPageSize } = requireSystem(name)
    const settings = change({ ...system.settings, url: system.settings.url.replace(/[?&]per_page=\d+/, '') })

    const { text } = await requestPlainly(settings, noon)

    expect(pointer(JSON.parse(text), String(settings.records ?? ''))).toHaveLength(maxPageSize ?? 0)
  })

  test.each<[string, Change]>([
    ['hibob-api', (settings) => ({ ...settings, body: { ...(settings.body as object), showInactive: false } })],
    ['successfactors-api', (settings) => ({ ...settings, url: settings.url.replace(/&\$filter.*/, '') })],
    [
      'odoo-api',
      (settings) => JSON.parse(JSON.stringify(settings).replace('"active_test":false', '"active_test":true')),
    ],
  ])('for active people only leaves leavers out in %s', async (name, change) => {
    await using system = await openSystem(name, { people: 5 })

    const all = await readPlainly(system.settings, noon)
    const active = await readPlainly(change(system.settings), noon)

    expect([all.length, active.length]).toEqual([5, 4])
  })
})

describe('the end of a list', () => {
  test('is an answer without a body behind the last worker of ADP', async () => {
    await using system = await openSystem('adp-api', { people: 100, certificates })

    const { status, text } = await requestPlainly({ ...system.settings, url: `${system.settings.url}?$skip=100` }, noon)

    expect([status, text]).toEqual([204, ''])
  })

  test('is stated by has_next_page alone in Factorial, whose cursor is set on the last page too', async () => {
    await using system = await openSystem('factorial-api', { people: 7 })

    const { text } = await requestPlainly(system.settings, noon)

    expect(JSON.parse(text).meta).toMatchObject({ has_next_page: false, end_cursor: expect.any(String), total: 7 })
  })
})

test('HiBob refuses the 51st request of a minute, and says when the next one begins', async () => {
  let now = noon.getTime()
  await using system = await openSystem('hibob-api', { people: 1, now: () => now })

  const statuses: number[] = []
  for (let count = 0; count < 51; count += 1) statuses.push((await requestPlainly(system.settings, noon)).status)
  const refused = await requestPlainly(system.settings, noon)
  now += 60_000
  const later = await requestPlainly(system.settings, noon)

  expect(statuses).toEqual([...Array(50).fill(200), 429])
  expect(refused.headers['x-ratelimit-reset']).toBe(String(noon.getTime() / 1000 + 60))
  expect(later.status).toBe(200)
})

test('a report computes until its gate opens', async () => {
  const gate = Promise.withResolvers<void>()
  const requested = Promise.withResolvers<void>()
  const beforeFirstByte = () => {
    requested.resolve()
    return gate.promise
  }
  await using system = await openSystem('workday-raas-json', { people: 7, beforeFirstByte })
  let isAnswered = false

  const answer = requestPlainly(system.settings, noon).then((response) => {
    isAnswered = true
    return response
  })
  await requested.promise
  const before = isAnswered
  gate.resolve()

  expect(before).toBe(false)
  expect((await answer).status).toBe(200)
})
