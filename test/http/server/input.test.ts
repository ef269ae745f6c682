import { describe, expect, test } from 'vitest'
import { ask, serveNotes } from '../notes.ts'

const json = { 'content-type': 'application/json' }

describe('path parameters', () => {
  const malformed = [
    'abc',
    '1.5',
    '-1',
    '0',
    '007',
    '1e3',
    '0x10',
    '+1',
    '%201',
    '9'.repeat(20),
    '9007199254740993',
    'NaN',
  ]

  test.each(malformed)('%s is not a number: 400, whatever the operation lists', async (text) => {
    await using server = await serveNotes()

    const answer = await ask(`${server.baseUrl}/notes/${text}`)

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ statusCode: 400, name: 'MalformedAddress', code: 14004 })
  })

  test('a union reads a number as a number and everything else as text', async () => {
    await using server = await serveNotes()

    const byNumber = await ask(`${server.baseUrl}/notes/42`)
    const byKey = await ask(`${server.baseUrl}/notes/key:42`)

    expect(byNumber.body).toEqual({ noteId: 42 })
    expect(byKey.body).toEqual({ noteId: 'key:42' })
  })

  test('a parameter may be as long as the headers may be', async () => {
    await using server = await serveNotes()

    const long = await ask(`${server.baseUrl}/notes/key:${'x'.repeat(12_000)}`)
    const tooLong = await ask(`${server.baseUrl}/notes/key:${'x'.repeat(20_000)}`)

    expect([long.status, tooLong.status]).toEqual([200, 431])
  })

  test('a path that is not percent-encoded correctly is refused', async () => {
    await using server = await serveNotes()

    const answer = await ask(`${server.baseUrl}/notes/%E0%A4%A`)

    expect(answer.body).toMatchObject({ statusCode: 400, name: 'MalformedAddress' })
  })
})

describe('the query', () => {
  async function read(query: string): Promise<{ status: number; query: unknown; message: string | undefined }> {
    let received: unknown
    await using server = await serveNotes({
      handlers: {
        listNotes: async (_, input) => {
          received = input.query
          return { status: 200, body: { data: [], pagination: {} } }
        },
      },
    })
    const { status, body } = await ask(`${server.baseUrl}/notes${query}`)
    return { status, query: received, message: body.message }
  }

  test('gets the defaults of the table', async () => {
    const { query } = await read('')

    expect(query).toEqual({ size: 50, includeTotalCount: false })
  })

  test('arrives as values', async () => {
    const { query } = await read('?size=500&includeTotalCount=true&pinned=false&sort=updatedAt&sortDir=DESC&cursor=12')

    expect(query).toEqual({
      size: 500,
      includeTotalCount: true,
      pinned: false,
      sort: 'updatedAt',
      sortDir: 'DESC',
      cursor: '12',
    })
  })

  test.each([
    'expand[]=author&expand[]=history',
    'expand%5B%5D=author&expand%5B%5D=history',
    'expand=author&expand=history',
    'expand=author&expand[]=history',
    'expand[0]=author&expand[1]=history',
    'expand%5B0%5D=author&expand=history',
  ])('reads the list %s', async (query) => {
    const { query: received } = await read(`?${query}`)

    expect(received).toMatchObject({ 'expand[]': ['author', 'history'] })
  })

  test.each(['ids=1&ids=2', 'ids[]=1&ids[]=2', 'ids[0]=1&ids[7]=2'])(
    'reads the list %s, which has no brackets in the table',
    async (query) => {
      const { query: received } = await read(`?${query}`)

      expect(received).toMatchObject({ ids: [1, 2] })
    },
  )

  test('reads a list of one entry', async () => {
    const { query } = await read('?expand[]=author')

    expect(query).toMatchObject({ 'expand[]': ['author'] })
  })

  test.each([
    ['size=0', 'size'],
    ['size=501', 'size'],
    ['size=-1', 'size'],
    ['size=2.5', 'size'],
    ['size=', 'size'],
    ['size=ten', 'size'],
    ['size=1&size=2', 'size'],
    ['includeTotalCount=yes', 'includeTotalCount'],
    ['includeTotalCount=1', 'includeTotalCount'],
    ['sort=name', 'sort'],
    ['sortDir=asc', 'sortDir'],
    ['expand[]=author,history', 'expand[]'],
    ['expand=secrets', 'expand[]'],
  ])('%s is refused by name and without its value', async (query, name) => {
    const { status, message } = await read(`?${query}`)

    expect(status).toBe(400)
    expect(message).toContain(name)
    expect(message).not.toMatch(/author,history|secrets|yes|ten/)
  })

  test.each([
    ['Size=1', 'size'],
    ['size[]=1', 'size'],
    ['size[0]=1', 'size'],
    ['size%20=1', 'size'],
    ['sort_dir=ASC', 'sortDir'],
    ['EXPAND[]=author', 'expand[]'],
    ['expand[x]=author', 'expand[]'],
    ['expand[0][1]=author', 'expand[]'],
    ['expand.0=author', 'expand[]'],
  ])('%s is a misspelled parameter and is refused with the right name', async (query, name) => {
    const { status, message } = await read(`?${query}`)

    expect(status).toBe(400)
    expect(message).toBe(`${name}: must be spelled so, and not in another way`)
  })

  test('ignores unknown names', async () => {
    const { status, query } = await read('?page=3&__proto__=1&constructor=1&pinned=true')

    expect(status).toBe(200)
    expect(query).toEqual({ size: 50, includeTotalCount: false, pinned: true })
  })

  test('is refused with 400 even if the path is valid', async () => {
    await using server = await serveNotes()

    const answer = await ask(`${server.baseUrl}/books/1/pages/1?size=0`)

    expect(answer.status).toBe(400)
  })
})

describe('the body', () => {
  test('of another media type is refused with 415', async () => {
    await using server = await serveNotes()
    const init = { method: 'POST', headers: { 'content-type': 'text/plain' }, body: '{"text":"x"}' }

    const answer = await ask(`${server.baseUrl}/notes`, init)

    expect(answer).toMatchObject({ status: 415, body: { name: 'UnsupportedMediaType' } })
  })

  test.each([
    ['malformed JSON', { headers: json, body: '{"text": "Ana Ruiz' }, 'MalformedBody'],
    [
      'a key that would change prototypes',
      { headers: json, body: '{"text":"x","__proto__":{"a":1}}' },
      'MalformedBody',
    ],
    ['text that is not UTF-8', { headers: json, body: Buffer.from('{"text":"Zo\xeb"}', 'latin1') }, 'MalformedBody'],
    ['no body at all', {}, 'InvalidInput'],
    ['an announced body that is empty', { headers: json, body: '' }, 'InvalidInput'],
    ['a body of another kind', { headers: json, body: '[]' }, 'InvalidInput'],
    ['null', { headers: json, body: 'null' }, 'InvalidInput'],
  ])('%s is refused with 400', async (_, init, name) => {
    await using server = await serveNotes()

    const answer = await ask(`${server.baseUrl}/notes`, { method: 'POST', ...init })

    expect(answer.status).toBe(400)
    expect(answer.body).toMatchObject({ statusCode: 400, name })
    expect(answer.text).not.toContain('Ana')
  })

  test('beyond the limit is refused with 413', async () => {
    await using server = await serveNotes({ app: { bodyLimitBytes: 100 } })

    const answer = await server.client.createNote({ body: { text: 'x'.repeat(200) } })

    expect(answer).toMatchObject({ status: 413, error: { code: 14130, name: 'TooLarge' } })
  })

  test('keeps unknown keys aside', async () => {
    await using server = await serveNotes()

    const answer = await ask(`${server.baseUrl}/notes`, {
      method: 'POST',
      headers: json,
      body: '{"text":"x","colour":1}',
    })

    expect(answer.body).toEqual({ id: 1, text: 'x', pinned: false })
  })

  test('names the first few wrong fields and counts the others', async () => {
    await using server = await serveNotes()
    const draft = { text: 5, pinned: 'Ana' }

    const answer = await ask(`${server.baseUrl}/notes`, { method: 'POST', headers: json, body: JSON.stringify(draft) })

    expect(answer.body.message).toBe('body.text: must be a text; body.pinned: must be true or false')
  })

  test('may be announced without being sent', async () => {
    await using server = await serveNotes()

    const answer = await ask(`${server.baseUrl}/notes/1`, { method: 'DELETE', headers: json })

    expect(answer.status).toBe(204)
  })

  test('of a batch is checked as a whole only by its length', async () => {
    await using server = await serveNotes()
    const post = (items: unknown) => ({ method: 'POST', headers: json, body: JSON.stringify(items) })

    const oddItems = await ask(`${server.baseUrl}/notes/import`, post([{ text: 'x' }, null, 7]))
    const empty = await ask(`${server.baseUrl}/notes/import`, post([]))
    const tooMany = await ask(`${server.baseUrl}/notes/import`, post([1, 2, 3, 4]))

    expect(oddItems.body).toEqual([true, true, true])
    expect([empty.status, tooMany.status]).toEqual([400, 400])
  })
})
