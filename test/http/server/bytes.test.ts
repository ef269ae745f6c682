import { connect } from 'node:net'
import { buffer, text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { operations } from '../../../src/contract/operation.ts'
import { createClient } from '../../../src/http/client/client.ts'
import { refuse } from '../../../src/http/refusal.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { type Handlers, mount } from '../../../src/http/server/mount.ts'

const table = operations({
  keep: {
    method: 'POST',
    path: '/files',
    summary: 'Keep a file.',
    query: z.object({ most: z.int().default(1000) }),
    body: z.custom<AsyncIterable<Uint8Array>>((value) => typeof value === 'object' && value !== null),
    takesBytes: true,
    success: { 200: z.object({ bytes: z.int() }) },
    errors: [400, 413, 415],
  },
  note: {
    method: 'POST',
    path: '/notes',
    summary: 'Write a note.',
    body: z.object({ text: z.string() }),
    success: { 200: z.object({}) },
    errors: [400],
  },
})

const handlers: Handlers<typeof table, object> = {
  async keep(_ctx, { query: { most }, body }) {
    let bytes = 0
    for await (const chunk of body) {
      bytes += chunk.length
      if (bytes > most) throw refuse('TooLarge', 'too much')
    }
    return { status: 200, body: { bytes } }
  },
  async note() {
    return { status: 200, body: {} }
  },
}

async function serve(slowly = {}) {
  const app = await createApp(slowly)
  mount(app, table, handlers, { prefix: '', authorize: async () => ({}) })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { url, client: createClient(table, { baseUrl: url }), [Symbol.asyncDispose]: () => app.close() }
}

async function* bytesOf(...chunks: readonly string[]) {
  for (const chunk of chunks) yield Buffer.from(chunk)
}

test('a stream of bytes is passed on unchanged, and can be refused while it arrives', async () => {
  await using server = await serve()

  const kept = await server.client.keep({ body: bytesOf('{"text":', '\0') })
  const tooLarge = await server.client.keep({ query: { most: 3 }, body: bytesOf('ab', 'cd') })
  const asJson = await fetch(`${server.url}/files`, {
    method: 'POST',
    body: '{}',
    headers: { 'content-type': 'application/json' },
  })

  expect(kept).toMatchObject({ status: 200, body: { bytes: 9 } })
  expect([tooLarge.status, asJson.status]).toEqual([413, 415])
})

test('slow bodies are awaited only on routes that allow it', async () => {
  await using server = await serve({ requestTimeoutMs: 200, slowRequestTimeoutMs: 60_000 })
  const begin = (path: string, type: string) => {
    const socket = connect(Number(new URL(server.url).port), '127.0.0.1')
    socket.write(
      `POST ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-type: ${type}\r\ncontent-length: 4\r\n\r\n`,
    )
    return socket
  }

  const slow = begin('/files', 'application/octet-stream')
  const note = begin('/notes', 'application/json')
  const refused = await text(note)
  slow.write('abcd')
  const kept = (await buffer(slow)).toString()

  expect(refused).toMatch(/^HTTP\/1\.1 408 /)
  expect(kept).toMatch(/^HTTP\/1\.1 200 [\s\S]*\{"bytes":4\}/)
})
