import { afterAll, beforeAll, expect, test } from 'vitest'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

let opened: TestPlatform
let origin: string

beforeAll(async () => {
  opened = await openTestPlatform(createPostgresDatabase)
  origin = new URL(opened.platform.baseUrl).origin
})
afterAll(async () => {
  await opened[Symbol.asyncDispose]()
})

test('the reference page and all that it loads come from the platform itself', async () => {
  const page = await fetch(`${origin}/reference/`)
  const html = await page.text()
  const loaded = [...html.matchAll(/(?:src|href)="([^"]+)"/g)].map(([, address]) => new URL(address ?? '', page.url))
  const scripts = await Promise.all(loaded.map((address) => fetch(address)))

  expect(page.status).toBe(200)
  expect(loaded.map((address) => address.origin)).toEqual([origin])
  expect(scripts.map(({ status }) => status)).toEqual([200])
  expect(html).toContain('/public/v2/openapi.json')
  const policy = page.headers.get('content-security-policy')
  expect(policy).toContain("connect-src 'self'")
  expect(policy).toMatch(/script-src 'self' 'sha256-[^ ;]+';/)
})

test('the address of the platform alone leads to the reference page', async () => {
  const answer = await fetch(origin)

  expect([answer.status, answer.url]).toEqual([200, `${origin}/reference/`])
})

test('the script of the page and its document travel compressed', async () => {
  const html = await (await fetch(`${origin}/reference/`)).text()
  const [, script = ''] = /<script src="([^"]+)"/.exec(html) ?? []
  const addresses = [new URL(script, `${origin}/reference/`).href, `${opened.platform.baseUrl}/openapi.json`]

  const answers = await Promise.all(
    addresses.map((address) => fetch(address, { headers: { 'accept-encoding': 'gzip' } })),
  )

  expect(answers.map(({ headers }) => headers.get('content-encoding'))).toEqual(['gzip', 'gzip'])
})

test('the document that it shows is there without a key', async () => {
  const document = await fetch(`${opened.platform.baseUrl}/openapi.json`)

  expect(await document.json()).toMatchObject({ openapi: '3.1.0', servers: [{ url: '/public/v2' }] })
})

test('common addresses redirect to the reference page, and a browser finds an icon', async () => {
  const [docs, icon] = [await fetch(`${origin}/docs`), await fetch(`${origin}/favicon.ico`)]

  expect([docs.status, docs.url]).toEqual([200, `${origin}/reference/`])
  expect([icon.status, icon.headers.get('content-type')]).toEqual([200, 'image/svg+xml'])
})

test.each([
  ['GET', '/risk-registers/7/risks?size=2', 'List Risks'],
  ['PUT', '/policies/7', 'Modify Policy'],
  ['POST', '/vendors', 'Create Vendor'],
])('%s %s is answered with 501 and the name of the operation', async (method, path, name) => {
  const answer = await fetch(`${opened.platform.baseUrl}${path}`, { method })

  expect(answer.status).toBe(501)
  expect(await answer.json()).toMatchObject({
    statusCode: 501,
    name: 'NotImplemented',
    message: `"${name}" is an operation of the contract that this platform does not serve`,
  })
})

test('a path or a method that no contract has is answered as before', async () => {
  const answers = [
    await fetch(`${opened.platform.baseUrl}/risk-registers/7/nothing`),
    await fetch(`${opened.platform.baseUrl}/personnel`, { method: 'PUT' }),
  ]

  expect(answers.map(({ status }) => status)).toEqual([404, 405])
})

test.each(['/public/personnel', '/public/v1/personnel', '/public', '/public/'])(
  '%s is answered with 404 and the address of version 2',
  async (path) => {
    const answer = await fetch(`${origin}${path}`)

    expect(answer.status).toBe(404)
    expect(await answer.json()).toMatchObject({ message: expect.stringContaining('below /public/v2') })
  },
)
