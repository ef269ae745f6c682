import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { openTestPlatform } from '../helpers/platforms.ts'

const Document = z.object({ servers: z.array(z.object({ url: z.string() })) })

describe('the limit of requests', () => {
  test('refuses what exceeds it before the key is looked at, and says in seconds when to come again', async () => {
    await using opened = await openTestPlatform(createPostgresDatabase, { requestsPerMinute: 3 })
    const url = `${opened.platform.baseUrl}/workspaces`

    const statuses = [await fetch(url), await fetch(url), await fetch(`${url}/none`)].map(({ status }) => status)
    const refused = await fetch(url)

    expect(statuses).toEqual([401, 401, 404])
    expect(refused.status).toBe(429)
    expect(refused.headers.get('retry-after')).toMatch(/^([1-9]|[1-5]\d|60)$/)
    expect(await refused.json()).toEqual({ statusCode: 429, message: expect.any(String), code: expect.any(Number) })
  })

  test('says with every answer how many requests are left, and when the minute ends', async () => {
    await using opened = await openTestPlatform(createPostgresDatabase, { requestsPerMinute: 2 })
    const url = `${opened.platform.baseUrl}/workspaces`

    const answers = [await fetch(url), await fetch(url), await fetch(url)]

    expect(answers.map(({ status }) => status)).toEqual([401, 401, 429])
    expect(answers.map(({ headers }) => headers.get('ratelimit-policy'))).toEqual(Array(3).fill('"minute";q=2;w=60'))
    expect(answers.map(({ headers }) => headers.get('ratelimit')?.replace(/\d+$/, ''))).toEqual([
      '"minute";r=1;t=',
      '"minute";r=0;t=',
      '"minute";r=0;t=',
    ])
    expect(answers[2]?.headers.get('ratelimit')).toMatch(/;t=([1-9]|[1-5]\d|60)$/)
  })

  test('is a bucket that leaks evenly if that is asked for', async () => {
    await using opened = await openTestPlatform(createPostgresDatabase, { requestsPerMinute: 30, rateLimit: 'leaky' })
    const url = `${opened.platform.baseUrl}/workspaces`

    const answers = [await fetch(url), await fetch(url), await fetch(url), await fetch(url)]

    expect(answers.map(({ status }) => status)).toEqual([401, 401, 401, 429])
    expect(answers[0]?.headers.get('ratelimit-policy')).toBe('"bucket";q=3;w=6')
    expect(answers.map(({ headers }) => headers.get('ratelimit')?.replace(/\d+$/, ''))).toEqual([
      '"bucket";r=2;t=',
      '"bucket";r=1;t=',
      '"bucket";r=0;t=',
      '"bucket";r=0;t=',
    ])
    expect(answers[3]?.headers.get('retry-after')).toMatch(/^[12]$/)
  })

  test('counts a path that is spelled in another way', async () => {
    await using opened = await openTestPlatform(createPostgresDatabase, { requestsPerMinute: 1 })
    const url = `${opened.platform.baseUrl}/workspaces`

    const statuses = [await fetch(url), await fetch(url.replace('/public', '/%70ublic'))].map(({ status }) => status)

    expect(statuses).toEqual([401, 429])
  })

  test('is what a client learns how long to wait from', async () => {
    await using opened = await openTestPlatform(createPostgresDatabase, { requestsPerMinute: 1 })
    const { client } = await opened.newAccount()
    await client.listWorkspaces({ query: {} })

    const answer = await client.listWorkspaces({ query: {} })

    expect(answer).toMatchObject({ status: 'undeclared', httpStatus: 429, retryAfterMs: expect.any(Number) })
  })

  test('counts every address by itself', async () => {
    await using opened = await openTestPlatform(createPostgresDatabase, {
      requestsPerMinute: 1,
      trustedProxies: ['127.0.0.1'],
    })
    const statusFrom = async (address: string) => {
      const headers = { 'x-forwarded-for': address }
      return (await fetch(`${opened.platform.baseUrl}/workspaces`, { headers })).status
    }

    const statuses = []
    for (const address of ['192.0.2.1', '192.0.2.2', '192.0.2.1']) statuses.push(await statusFrom(address))

    expect(statuses).toEqual([401, 401, 429])
  })

  test('leaves the probe and the operator alone', async () => {
    const operatorToken = 'for-the-operator'
    await using opened = await openTestPlatform(createPostgresDatabase, { requestsPerMinute: 1, operatorToken })
    const { baseUrl, operatorUrl } = opened.platform
    const headers = { authorization: `Bearer ${operatorToken}` }
    await fetch(`${baseUrl}/openapi.json`)

    const answers = [
      await fetch(`${baseUrl}/openapi.json`),
      await fetch(new URL('/healthz', baseUrl)),
      await fetch(`${operatorUrl}/keys`, { headers }),
      await fetch(new URL('/public/v20', baseUrl)),
    ]

    expect(answers.map(({ status }) => status)).toEqual([429, 200, 200, 404])
  })

  test('is not there unless one is named', async () => {
    await using opened = await openTestPlatform(createPostgresDatabase, { requestsPerMinute: null })
    const statuses = new Set<number>()

    for (let sent = 0; sent < 600; sent++) statuses.add((await fetch(`${opened.platform.baseUrl}/none`)).status)

    expect([...statuses]).toEqual([404])
  })
})

test('a body that is too large is refused with the name of the refusal', async () => {
  await using opened = await openTestPlatform(createPostgresDatabase)
  const { name } = await opened.newAccount()
  const { key } = await opened.operator.createKey({ body: { account: name, name: 'test', permissions: 'all' } })

  const answer = await fetch(`${opened.platform.baseUrl}/custom-connections`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: `{"name":"${'x'.repeat(10 * 1024 * 1024)}"}`,
  })

  expect(answer.status).toBe(413)
  expect(await answer.json()).toEqual({
    statusCode: 413,
    message: expect.any(String),
    code: expect.any(Number),
    name: 'TooLarge',
  })
})

test('the document names the configured public addresses', async () => {
  const baseAddresses = ['https://api.example.com/public/v2', 'https://api.eu.example.com/public/v2']
  await using configured = await openTestPlatform(createPostgresDatabase, { baseAddresses })
  await using unconfigured = await openTestPlatform(createPostgresDatabase)
  const serversOf = async ({ platform }: typeof configured) =>
    Document.parse(await (await fetch(`${platform.baseUrl}/openapi.json`)).json()).servers

  const servers = [await serversOf(configured), await serversOf(unconfigured)]

  expect(servers).toEqual([baseAddresses.map((url) => ({ url })), [{ url: '/public/v2' }]])
})
