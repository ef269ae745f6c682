import { describe, expect, test } from 'vitest'
import { WalkInterrupted, walk } from '../../../src/http/client/walk.ts'
import { type NoteHandlers, serveNotes } from '../notes.ts'

type ListNotes = NoteHandlers['listNotes']

const note = (id: number) => ({ id, text: '', pinned: false })

/** A list that gives one note a page; the last page carries this end in place of a cursor. */
function listOf(pages: number, end: { cursor?: string | null } = {}): ListNotes {
  return async (_, { query }) => {
    const position = Number(query.cursor ?? 1)
    const pagination = position < pages ? { cursor: String(position + 1) } : end
    return { status: 200, body: { data: [note(position)], pagination } }
  }
}

describe('walking a list', () => {
  test.each([
    ['absent', {}],
    ['null', { cursor: null }],
    ['empty', { cursor: '' }],
  ])('ends where the cursor is %s', async (_, end) => {
    await using server = await serveNotes({ handlers: { listNotes: listOf(3, end) } })

    const entries = await Array.fromAsync(walk(server.client.listNotes, {}))

    expect(entries.map(({ id }) => id)).toEqual([1, 2, 3])
  })

  test('repeats the other parameters on every page', async () => {
    const sizes: number[] = []
    const list = listOf(3)
    await using server = await serveNotes({
      handlers: {
        listNotes: (ctx, input) => {
          sizes.push(input.query.size)
          return list(ctx, input)
        },
      },
    })

    await Array.fromAsync(walk(server.client.listNotes, { query: { size: 7 } }))

    expect(sizes).toEqual([7, 7, 7])
  })

  test('starts at the cursor of the input', async () => {
    await using server = await serveNotes({ handlers: { listNotes: listOf(3) } })

    const entries = await Array.fromAsync(walk(server.client.listNotes, { query: { cursor: '2' } }))

    expect(entries.map(({ id }) => id)).toEqual([2, 3])
  })

  test('requests no page beyond the current one', async () => {
    let pages = 0
    const list = listOf(3)
    await using server = await serveNotes({
      handlers: {
        listNotes: (ctx, input) => {
          pages += 1
          return list(ctx, input)
        },
      },
    })

    for await (const _ of walk(server.client.listNotes, {})) break

    expect(pages).toBe(1)
  })

  test('fails if a cursor is repeated', async () => {
    const listNotes: ListNotes = async (_, { query }) => ({
      status: 200,
      body: { data: [], pagination: { cursor: query.cursor === 'a' ? 'b' : 'a' } },
    })
    await using server = await serveNotes({ handlers: { listNotes } })

    const walked = Array.fromAsync(walk(server.client.listNotes, {}))

    await expect(walked).rejects.toThrow('repeats an earlier cursor')
  })

  test('is interrupted by a response that is not a page', async () => {
    const list = listOf(3)
    const listNotes: ListNotes = (ctx, input) =>
      input.query.cursor === '2' ? Promise.reject(new Error('broken')) : list(ctx, input)
    await using server = await serveNotes({ handlers: { listNotes } })

    const failure = await Array.fromAsync(walk(server.client.listNotes, {})).catch((error: unknown) => error)

    expect(failure).toBeInstanceOf(WalkInterrupted)
    expect(failure).toMatchObject({ answer: { status: 500, error: { code: 15000 } } })
  })
})
