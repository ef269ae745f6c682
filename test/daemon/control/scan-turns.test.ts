import { expect, test } from 'vitest'
import { type ScanContext, scanInTurn } from '../../../src/daemon/control/scan-turns.ts'

/** Scans of one store, each of which goes on until it is ended by its name. */
function createScans() {
  const sync = { store: { db: {} } } as unknown as ScanContext['sync']
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const scan = (principal: string, name: string, left?: AbortSignal) => {
    const context = { sync, caller: { principal }, ...(left && { requestSignal: () => left }) }
    return scanInTurn(context, async () => {
      begun.push(name)
      await new Promise<void>((resolve) => ends.set(name, resolve))
      return name
    })
  }
  return { begun, scan, end: (name: string) => ends.get(name)?.() }
}

test('one scan of each caller goes on at a time, and two in all', async () => {
  const { begun, scan, end } = createScans()
  const first = scan('ada', 'ada 1')
  const second = scan('ada', 'ada 2')
  const ofBob = scan('bob', 'bob 1')
  const ofEve = scan('eve', 'eve 1')
  await expect.poll(() => begun).toEqual(['ada 1', 'bob 1'])

  end('bob 1')
  await ofBob
  await expect.poll(() => begun).toEqual(['ada 1', 'bob 1', 'eve 1'])
  end('ada 1')
  await first
  await expect.poll(() => begun).toEqual(['ada 1', 'bob 1', 'eve 1', 'ada 2'])
  end('eve 1')
  end('ada 2')

  expect(await Promise.all([second, ofEve])).toEqual(['ada 2', 'eve 1'])
})

test('a caller with many waiting scans is refused, others are not, and who has left is passed over', async () => {
  const { begun, scan, end } = createScans()
  const left = new AbortController()
  const first = scan('ada', 'ada')
  const gone = scan('ada', 'gone', left.signal).catch((error: unknown) => error)
  const waiting = Array.from({ length: 19 }, (_, n) => scan('ada', `ada ${n}`))

  await expect(scan('ada', 'one more')).rejects.toMatchObject({ status: 429, headers: { 'retry-after': '10' } })
  const ofBob = scan('bob', 'bob')
  left.abort()
  await expect.poll(() => begun).toContain('bob')
  end('bob')
  end('ada')
  await Promise.all([first, ofBob])
  for (let n = 0; n < waiting.length; n++) {
    await expect.poll(() => begun).toContain(`ada ${n}`)
    end(`ada ${n}`)
  }

  expect(await gone).toMatchObject({ status: 503 })
  expect(await Promise.all(waiting)).toHaveLength(19)
  expect(begun).not.toContain('gone')
})
