import type { Reading } from '../../connectors/connector.ts'

/**
 * One of those who read a source together. Whoever stops reading has to say so, or the others wait for them. One that reads on after it
 * has left fails: it must not take what it lacks for absent.
 */
export type Share = { readonly reading: Reading; leave(): Promise<void> }

/**
 * Has several read one source that is read once. All of them take a slice before the next one is read, so that few are ever in
 * memory. What the source fails with, each of them meets. No record can be left out, since they know different ones. The last one that
 * leaves closes the source.
 */
export function shareReading({ filtered: _, close, ...reading }: Reading, count: number): readonly Share[] {
  const rows = reading.rows[Symbol.asyncIterator]()
  const readers = new Set<object>()
  const waiting = new Map<object, PromiseWithResolvers<Slice>>()

  function pass(): void {
    if (waiting.size < readers.size || waiting.size === 0) return
    const turns = [...waiting.values()]
    waiting.clear()
    const next = rows.next()
    for (const turn of turns) next.then(turn.resolve, turn.reject)
  }

  async function leave(reader: object): Promise<void> {
    if (!readers.delete(reader)) return
    waiting.get(reader)?.reject(hasLeft())
    waiting.delete(reader)
    if (readers.size > 0) return pass()
    // What goes wrong while the source is closed concerns nobody any more.
    await rows.return?.().catch(() => {})
    await close?.().catch(() => {})
  }

  return Array.from({ length: count }, (): Share => {
    const reader = {}
    readers.add(reader)
    const iterator: AsyncIterator<Rows> = {
      next() {
        if (!readers.has(reader)) return Promise.reject(hasLeft())
        const turn = Promise.withResolvers<Slice>()
        waiting.set(reader, turn)
        pass()
        return turn.promise
      },
      async return() {
        await leave(reader)
        return { done: true, value: undefined }
      },
    }
    return {
      reading: { ...reading, rows: { [Symbol.asyncIterator]: () => iterator } },
      leave: () => leave(reader),
    }
  })
}

function hasLeft(): Error {
  return new Error('one that reads along has left')
}

type Rows = Reading['rows'] extends AsyncIterable<infer R> ? R : never
type Slice = IteratorResult<Rows>
