import { readFile } from 'node:fs/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../../src/http/server/app.ts'
import { type Assets, serveAssets } from '../../src/web/assets.ts'

let app: Awaited<ReturnType<typeof createApp>>
let assets: Assets

beforeAll(async () => {
  app = await createApp()
  await app.register(
    async (scope) => {
      assets = await serveAssets(scope, { prefix: '/own', names: ['style.css', 'htmx.js'] })
    },
    { prefix: '/own' },
  )
})
afterAll(() => app.close())

test('a file is served as its package has it, below an address that only this content has, and may be kept for ever', async () => {
  const answer = await app.inject(assets.href('htmx.js'))

  const file = await readFile(new URL(import.meta.resolve('htmx.org/dist/htmx.min.js')))
  expect(assets.href('htmx.js')).toMatch(/^\/own\/assets\/htmx\.[0-9a-f]{16}\.js$/)
  expect(answer.rawPayload.equals(file)).toBe(true)
  expect(answer.headers).toMatchObject({
    'content-type': 'text/javascript; charset=utf-8',
    'cache-control': 'public, max-age=31536000, immutable',
    'x-content-type-options': 'nosniff',
  })
})

test.each([
  '/own/assets/style.css',
  '/own/assets/style.0000000000000000.css',
  '/own/assets/../assets.ts',
  '/own/assets/..%2fassets.ts',
  '/own/assets/%2e%2e%2f%2e%2e%2fpackage.json',
  '/own/assets/..%5c..%5cpackage.json',
  '/own/assets/%2fetc%2fpasswd',
  '/own/assets/style.css%00',
  '/own/assets/__proto__',
])('no other file is reached, as by %s', async (path) => {
  const answer = await app.inject(path)

  expect(answer.statusCode).toBe(404)
  expect(answer.json()).toMatchObject({ name: 'UnknownPath' })
})

test('a file that is not served here has no address', () => {
  expect(() => assets.href('icon.svg')).toThrow('icon.svg is not served here')
})
