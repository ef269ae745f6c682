import { afterAll, beforeAll, expect, test } from 'vitest'
import { pglitePlace } from '../../helpers/servers/databases.ts'
import { openTestPlatform, type TestPlatform } from '../helpers/platforms.ts'

let opened: TestPlatform
let origin: string

beforeAll(async () => {
  opened = await openTestPlatform(pglitePlace)
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
