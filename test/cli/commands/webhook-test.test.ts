import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { renderWebhookTest, webhookTest } from '../../../src/cli/commands/webhook-test.ts'
import { plain } from '../../../src/cli/render/text.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { secret, serveInbox } from '../../helpers/sources/inbox-server.ts'
import { serveResponse } from '../../http/raw-server.ts'

const publicKey = `whpk_${Buffer.alloc(32, 1).toString('base64')}`

/** A configuration with a webhook of acme that has this secret, and with a connection that has none. */
async function configured({ text = secret } = {}) {
  const folder = await temporaryFolder()
  const config = join(folder.path, 'rollcall.yaml')
  await writeFile(join(folder.path, 'secret'), `${text}\n`)
  await writeFile(
    config,
    `platform: { baseUrl: 'http://127.0.0.1:1', apiKey: '\${file:secret}' }
server: { port: 0 }
connections:
  acme:
    target: { name: Acme }
    webhook: { recipe: standard-webhooks, secrets: ['\${file:secret}'], fields: { identityId: id } }
  export:
    target: { name: Export }
    source: { type: csv, path: people.csv, mode: snapshot, fields: { identityId: id } }
`,
  )
  return { config, [Symbol.asyncDispose]: () => folder[Symbol.asyncDispose]() }
}

/** What the command prints while the test runs. */
function listen(): string[] {
  const printed: string[] = []
  const spy = vi.spyOn(process.stdout, 'write').mockImplementation((text) => printed.push(String(text)) > 0)
  onTestFinished(() => spy.mockRestore())
  return printed
}

test('a sample is signed, accepted by the daemon, and used by no run', async () => {
  await using served = await serveInbox()
  await using work = await configured()
  const printed = listen()

  const exit = await webhookTest('acme', { config: work.config, url: `${served.url}/webhooks/acme`, json: true })

  const document = JSON.parse(printed.join(''))
  expect(exit).toBe(0)
  expect(document).toEqual({
    connection: 'acme',
    url: `${served.url}/webhooks/acme`,
    id: expect.stringMatching(/^rollcall-test-/),
    status: 200,
    answer: { received: document.id },
  })
  expect(await served.inbox()).toMatchObject([{ eventId: document.id, state: 'test' }])
  expect(printed.join('')).not.toContain(secret)
})

test('the result is also printed in words', () => {
  const result = { connection: 'acme', url: 'http://x/webhooks/acme', id: 'rollcall-test-1', status: 200, answer: null }

  const text = renderWebhookTest(result, plain)

  expect(text).toContain('acme: a signed sample was sent to http://x/webhooks/acme and answered with 200')
})

test.each([
  ['another secret than the daemon', 'whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD', 'acme', 'blocked', /answered 401/],
  ['a name that the daemon does not know', secret, 'gamma', 'not_found', /answered 404/],
])('with %s the command fails and says so', async (_, text, name, code, message) => {
  await using served = await serveInbox()
  await using work = await configured({ text })

  const testing = webhookTest('acme', { config: work.config, url: `${served.url}/webhooks/${name}?token=hidden` })

  await expect(testing).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
  await expect(testing).rejects.not.toMatchObject({ message: expect.stringContaining('hidden') })
})

test.each([
  ['302 Found', 'conflict', /answered 302/],
  ['429 Too Many Requests', 'already_active', /the inbox is full/],
  ['503 Service Unavailable', 'database_unreachable', /cannot store/],
])('an answer of %s is a failure of its own', async (status, code, message) => {
  await using server = await serveResponse(status, { location: '/elsewhere' }, '<html>')
  await using work = await configured()

  const testing = webhookTest('acme', { config: work.config, url: server.baseUrl })

  await expect(testing).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
})

test.each([
  ['nothing listens', 'acme', { url: 'http://127.0.0.1:1/webhooks/acme' }, 'source_unreachable', /does not answer/],
  ['no daemon is running', 'acme', {}, 'not_found', /--url/],
  ['the address is none', 'acme', { url: 'localhost:80' }, 'usage', /whole address/],
  ['the connection has no webhook', 'export', {}, 'usage', /has no webhook/],
  ['there is no such connection', 'gamma', {}, 'usage', /there is no connection "gamma"/],
])('where %s the command says what helps', async (_, name, options, code, message) => {
  await using work = await configured()

  const testing = webhookTest(name, { config: work.config, ...options })

  await expect(testing).rejects.toMatchObject({ code, message: expect.stringMatching(message) })
})

test('where the secret is a public key only the sender can sign', async () => {
  await using work = await configured({ text: publicKey })

  const testing = webhookTest('acme', { config: work.config, url: 'http://127.0.0.1:1/' })

  await expect(testing).rejects.toMatchObject({ code: 'usage', message: expect.stringContaining('only the sender') })
})
