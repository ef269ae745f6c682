import { describe, expect, test } from 'vitest'
import type { Reading, SourceRow } from '../../../src/connectors/connector.ts'
import { shareReading } from '../../../src/sync/plan/share.ts'

/** A source of slices that notes what is done with it. */
function sourceOf(slices: readonly string[], { failure }: { readonly failure?: Error } = {}) {
  const noted = { read: 0, isClosed: false, isOpen: false }
  async function* rows() {
    noted.isOpen = true
    try {
      for (const slice of slices) {
        noted.read += 1
        yield [{ values: [slice], origin: { file: 'people.csv', line: noted.read + 1 } }]
      }
      if (failure) throw failure
    } finally {
      noted.isClosed = true
    }
  }
  const reading: Reading = {
    mode: 'snapshot',
    asOf: '2026-11-20T01:00:00.000Z',
    source: { name: 'people.csv', bytes: 100, version: 'v1' },
    headers: ['Worker ID'],
    warnings: () => [`${noted.read} slices`],
    rows: rows(),
  }
  return { reading, noted }
}

function textOf(slice: readonly SourceRow[]): string | undefined {
  return slice[0]?.values[0]
}

async function all({ rows }: Reading): Promise<(string | undefined)[]> {
  return await Array.fromAsync(rows, textOf)
}

/** The turns of everything that is ready to go on. */
async function settled(): Promise<void> {
  await new Promise(setImmediate)
}

test('a single reader meets the source as it is', async () => {
  const { reading, noted } = sourceOf(['a', 'b', 'c'])

  const [share] = shareReading(reading, 1)
  const slices = await all(share?.reading ?? reading)

  expect(slices).toEqual(['a', 'b', 'c'])
  expect(noted).toEqual({ read: 3, isOpen: true, isClosed: true })
})

describe('several readers', () => {
  test('get the same slices in order, and what is known of the source', async () => {
    const { reading, noted } = sourceOf(['a', 'b', 'c'])

    const shares = shareReading(reading, 3)
    const slices = await Promise.all(shares.map((share) => all(share.reading)))

    expect(slices).toEqual(Array(3).fill(['a', 'b', 'c']))
    expect(noted).toEqual({ read: 3, isOpen: true, isClosed: true })
    expect(shares.map((share) => share.reading.warnings?.())).toEqual(Array(3).fill(['3 slices']))
    expect(shares[0]?.reading).toMatchObject({ mode: 'snapshot', headers: ['Worker ID'], asOf: reading.asOf })
  })

  test('keep one slice in memory: the source waits for the slowest of them', async () => {
    const { reading, noted } = sourceOf(['a', 'b', 'c'])
    const [quick, slow] = shareReading(reading, 2)

    const before = all(quick?.reading ?? reading)
    await settled()
    const untouched = noted.isOpen
    const rows = slow?.reading.rows[Symbol.asyncIterator]()
    const first = await rows?.next()
    await settled()
    const afterFirst = noted.read
    await rows?.next()
    await settled()
    const afterSecond = noted.read

    expect(untouched).toBe(false)
    expect(textOf(first?.value)).toBe('a')
    expect([afterFirst, afterSecond]).toEqual([1, 2])
    await Promise.all([rows?.next(), rows?.next(), before])
  })

  test('all meet what the source fails with, behind what came before', async () => {
    const failure = new Error('the file was cut')
    const { reading } = sourceOf(['a'], { failure })
    const shares = shareReading(reading, 2)

    const seen = await Promise.all(
      shares.map(async (share) => {
        const slices: (string | undefined)[] = []
        try {
          for await (const slice of share.reading.rows) slices.push(textOf(slice))
          return { slices, error: null }
        } catch (error) {
          return { slices, error }
        }
      }),
    )

    expect(seen).toEqual(Array(2).fill({ slices: ['a'], error: failure }))
  })

  test('go on without one that stops', async () => {
    const { reading, noted } = sourceOf(['a', 'b', 'c'])
    const [first, second] = shareReading(reading, 2)

    const others = all(second?.reading ?? reading)
    for await (const slice of first?.reading.rows ?? []) if (textOf(slice) === 'a') break

    expect(await others).toEqual(['a', 'b', 'c'])
    expect(noted.isClosed).toBe(true)
  })

  test('go on without one that fails over a slice', async () => {
    const { reading } = sourceOf(['a', 'b'])
    const [first, second] = shareReading(reading, 2)
    const failing = async () => {
      for await (const slice of first?.reading.rows ?? []) throw new Error(`cannot use ${textOf(slice)}`)
    }

    const [failed, others] = await Promise.allSettled([failing(), all(second?.reading ?? reading)])

    expect(failed).toMatchObject({ status: 'rejected', reason: new Error('cannot use a') })
    expect(others).toMatchObject({ value: ['a', 'b'] })
  })

  test('go on without one that leaves before it has begun, while they wait for it', async () => {
    const { reading } = sourceOf(['a', 'b'])
    const [first, second] = shareReading(reading, 2)

    const slices = all(first?.reading ?? reading)
    await settled()
    void second?.leave()
    void second?.leave()

    expect(await slices).toEqual(['a', 'b'])
  })
})

describe('the source', () => {
  test('is closed by the last one that stops, before that one goes on', async () => {
    const { reading, noted } = sourceOf(['a', 'b', 'c'])
    const [first, second] = shareReading(reading, 2)
    const closed: boolean[] = []
    const one = async (rows: Reading['rows'], slices: number) => {
      let taken = 0
      for await (const _slice of rows) {
        taken += 1
        if (taken === slices) break
      }
      closed.push(noted.isClosed)
    }

    await Promise.all([one(first?.reading.rows ?? reading.rows, 1), one(second?.reading.rows ?? reading.rows, 2)])

    expect(closed).toEqual([false, true])
    expect(noted.read).toBe(2)
  })

  test('is never read where nobody begins, and is closed by the last one that leaves', async () => {
    const { reading, noted } = sourceOf(['a'])
    let closed = 0
    const close = async () => void closed++
    const shares = shareReading({ ...reading, close }, 2)

    for (const share of shares) await share.leave()
    await settled()

    expect(noted).toEqual({ read: 0, isOpen: false, isClosed: false })
    expect(closed).toBe(1)
    expect(shares.map((share) => share.reading)).not.toContainEqual(expect.objectContaining({ close }))
    expect(await all(reading)).toEqual([])
  })

  test('that fails while it is closed troubles nobody', async () => {
    const { reading } = sourceOf(['a'])
    const [share] = shareReading({ ...reading, rows: failingAtTheEnd() }, 1)

    for await (const _slice of share?.reading.rows ?? []) break

    await expect(share?.leave()).resolves.toBeUndefined()
  })
})

describe('a reader that has left', () => {
  test('is not told that the source is at its end: what it lacks would be taken for absent', async () => {
    const { reading } = sourceOf(['a', 'b'])
    const [first, second] = shareReading(reading, 2)
    const waiting = all(first?.reading ?? reading)

    void first?.leave()
    const afterwards = all(first?.reading ?? reading)

    await expect(waiting).rejects.toThrow('has left')
    await expect(afterwards).rejects.toThrow('has left')
    expect(await all(second?.reading ?? reading)).toEqual(['a', 'b'])
  })
})

async function* failingAtTheEnd(): AsyncGenerator<readonly SourceRow[]> {
  try {
    yield []
  } finally {
    // biome-ignore lint/correctness/noUnsafeFinally: a source may fail while it is closed.
    throw new Error('cannot be closed')
  }
}
