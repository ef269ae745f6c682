import { Validator } from '@seriousme/openapi-schema-validator'
import { expect, test } from 'vitest'
import { control, controlPrefix } from '../../../src/contract/control/control.ts'
import { controlExamples } from '../../../src/contract/control/examples.ts'
import { live } from '../../../src/contract/control/live.ts'
import type { Operation } from '../../../src/contract/operation.ts'
import { controlDocument, serveDocument } from '../../../src/daemon/control/document.ts'
import { refuse } from '../../../src/http/refusal.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { mount } from '../../../src/http/server/mount.ts'
import { limitRequests } from '../../../src/http/server/request-limit.ts'

type Described = {
  readonly operationId: string
  readonly responses: Readonly<Record<string, { readonly content?: object }>>
}
type Document = {
  readonly tags: readonly { readonly name: string }[]
  readonly paths: Readonly<Record<string, Readonly<Record<string, Described>>>>
}

const operations: readonly (readonly [string, Operation])[] = Object.entries({ ...control, ...live })
const { paths } = controlDocument('1.2.3') as unknown as Document
const described = new Map(
  Object.values(paths).flatMap((path) => Object.values(path).map((one) => [one.operationId, one])),
)

test('every operation with a body or parameters has an example that it accepts', () => {
  const wrong = operations.flatMap(([name, { params, query, body, takesBytes }]) => {
    const example = controlExamples[name as keyof typeof controlExamples]
    if (!params && !body && !query) return []
    const bodies = Object.values(example?.bodies ?? {})
    const isTaken =
      example !== undefined &&
      (params?.safeParse(example.params).success ?? true) &&
      (query?.safeParse(example.query ?? {}).success ?? true) &&
      (body === undefined || takesBytes || (bodies.length > 0 && bodies.every((one) => body.safeParse(one).success)))
    return isTaken ? [] : [name]
  })

  expect(wrong).toEqual([])
})

test('the document is valid, and every operation is in one of its chapters', async () => {
  const document = controlDocument('1.2.3')

  expect(await new Validator().validate(structuredClone(document) as Record<string, unknown>)).toMatchObject({
    valid: true,
  })
  expect([...described.keys()].sort()).toEqual(operations.map(([name]) => name).sort())
  expect(Object.keys(described.get('watchLive')?.responses['200']?.content ?? {})).toEqual(['text/event-stream'])
})

/** A server that knows every operation and does nothing. */
async function serve({ requestsPerMinute }: { requestsPerMinute: number }) {
  const app = await createApp({ bodyLimitBytes: 1000 })
  limitRequests(app, { prefix: '/api', requestsPerMinute })
  const handlers = Object.fromEntries(
    operations.map(([name]) => [name, async () => ({ status: 200 as const, body: {} })]),
  )
  mount(app, Object.fromEntries(operations), handlers as never, { prefix: controlPrefix, authorize: async () => ({}) })
  const ask = async ({ method, path }: Operation, payload?: object) => {
    const url = `${controlPrefix}${path.replaceAll(/:\w+/g, 'x')}`
    return await app.inject({ method, url, ...(payload && { payload }) })
  }
  return { ask, [Symbol.asyncDispose]: () => app.close() }
}

test('the declared refusals of size and rate are the ones that occur', async () => {
  const declares = (status: number) =>
    operations.filter(([name]) => String(status) in (described.get(name)?.responses ?? {}))
  // The handler of a stream of bytes limits its size itself.
  const large = declares(413).filter(([, { takesBytes }]) => !takesBytes)
  await using server = await serve({ requestsPerMinute: large.length })

  const tooLarge = await Promise.all(large.map(([, operation]) => server.ask(operation, { text: 'x'.repeat(2000) })))
  const tooMany = await Promise.all(operations.map(([, operation]) => server.ask(operation)))

  expect(large).toEqual(operations.filter(([, { method, takesBytes }]) => method !== 'GET' && !takesBytes))
  expect(new Set(tooLarge.map(({ statusCode }) => statusCode))).toEqual(new Set([413]))
  expect(declares(429)).toEqual(operations)
  expect(new Set(tooMany.map(({ statusCode }) => statusCode))).toEqual(new Set([429]))
  expect(tooMany.every(({ headers }) => Number(headers['retry-after']) > 0)).toBe(true)
})

test('the document and its page are served to callers who may use the API', async () => {
  const app = await createApp()
  await using _closing = { [Symbol.asyncDispose]: () => app.close() }
  serveDocument(app, {
    version: '1.2.3',
    admit: async ({ headers }) => {
      if (headers.authorization !== 'Bearer right') throw refuse('Unauthorized', 'who is this')
    },
  })
  const get = (url: string, token: string) => app.inject({ url, headers: { authorization: `Bearer ${token}` } })

  const refused = await Promise.all(['/api/openapi.json', '/reference', '/reference/'].map((url) => get(url, 'wrong')))
  const asBrowser = { accept: 'text/html,application/xhtml+xml' }
  const browser = await app.inject({ url: '/reference', headers: asBrowser })
  const browserWithToken = await app.inject({
    url: '/reference',
    headers: { ...asBrowser, authorization: 'Bearer old' },
  })
  const elsewhere = await Promise.all(
    ['/reference/../package.json', '/reference/%2e%2e/%2e%2e/package.json', '/reference/..%2fpackage.json'].map((url) =>
      get(url, 'right'),
    ),
  )
  const [document, page] = [await get('/api/openapi.json', 'right'), await get('/reference/', 'right')]

  expect(refused.map(({ statusCode }) => statusCode)).toEqual([401, 401, 401])
  expect([browser.statusCode, browser.headers.location]).toEqual([303, '/sign-in?to=%2Freference%2F'])
  expect(elsewhere.map(({ statusCode }) => statusCode)).toEqual([404, 404, 404])
  expect(browserWithToken.statusCode).toBe(401)
  expect(document.json()).toMatchObject({ openapi: '3.1.0', info: { title: 'Rollcall control API' } })
  expect(page.body).toContain('/api/openapi.json')
  expect(page.headers['content-security-policy']).toMatch(/default-src 'none'; script-src 'self' 'sha256-[^ ;]+';/)
})
