import type { AnyAnswer } from './answer.ts'

/** A page of a list of the platform. */
type Page<Entry> = {
  readonly status: 200
  readonly body: {
    readonly data: readonly Entry[]
    readonly pagination: { readonly cursor?: string | null }
  }
}

type ListInput = { readonly query?: { readonly cursor?: string } | undefined }

/** Thrown if a page request did not return 200. The entries yielded so far are not the whole list. */
export class WalkInterrupted extends Error {
  override readonly name = 'WalkInterrupted'
  readonly answer: AnyAnswer

  constructor(answer: AnyAnswer) {
    super(`the list ended early: a page was answered with ${answer.status}`)
    this.answer = answer
  }
}

/**
 * Every entry of a list, page by page. Throws `WalkInterrupted` if a response is not a page, and an error if the server repeats a cursor,
 * because the list would never end.
 */
export async function* walk<Entry, Input extends ListInput>(
  list: (input: Input) => Promise<Page<Entry> | AnyAnswer>,
  input: Input,
): AsyncGenerator<Entry, void, undefined> {
  const cursors = new Set<string>()
  let cursor = input.query?.cursor
  while (true) {
    const answer = await list(cursor === undefined ? input : { ...input, query: { ...input.query, cursor } })
    if (!isPage(answer)) throw new WalkInterrupted(answer)
    yield* answer.body.data
    cursor = answer.body.pagination.cursor || undefined
    if (cursor === undefined) return
    if (cursors.has(cursor))
      throw new Error(`the list does not end: page ${cursors.size + 1} repeats an earlier cursor`)
    cursors.add(cursor)
  }
}

function isPage<Entry>(answer: Page<Entry> | AnyAnswer): answer is Page<Entry> {
  return answer.status === 200
}
