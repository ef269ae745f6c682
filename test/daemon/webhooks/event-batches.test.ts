import { expect, test } from 'vitest'
import { createEventBatches, type Receipt } from '../../../src/daemon/webhooks/event-batches.ts'
import type { NewEvent } from '../../../src/store/inbox/inbox.ts'

type Call = PromiseWithResolvers<readonly Receipt[]> & { readonly keys: readonly string[] }

function event(key: string, bytes = 10): NewEvent {
  const times = { signedAt: null, receivedAt: new Date(0) }
  return { connection: 'acme', key, eventId: null, ...times, body: Buffer.alloc(bytes), isTest: false }
}

/** Batches over a store that answers when the test says so. */
function openBatches({ patienceMs = 10_000 } = {}) {
  const calls: Call[] = []
  const reported: string[] = []
  let next = Promise.withResolvers<void>()
  const batches = createEventBatches({
    patienceMs,
    gatherMs: 1,
    store: (events) => {
      const call = { ...Promise.withResolvers<readonly Receipt[]>(), keys: events.map(({ key }) => key) }
      calls.push(call)
      next.resolve()
      next = Promise.withResolvers()
      return call.promise
    },
    committed: (events) => reported.push(`committed ${events.map(({ key }) => key)}`),
    failed: (events) => reported.push(`failed ${events.map(({ key }) => key)}`),
  })
  return {
    add: (...events: NewEvent[]) => events.map((one) => batches.add(one)),
    reported,
    /** The store's call with this number, once it was made. */
    async call(number: number): Promise<Call> {
      while (calls[number] === undefined) await next.promise
      return calls[number]
    },
  }
}

const stored = (count: number): Receipt[] => Array.from({ length: count }, () => 'stored')

test('events that arrive while a batch is written form the next one', async () => {
  const batches = openBatches()
  const first = batches.add(event('a'), event('b'))
  const one = await batches.call(0)
  const second = batches.add(event('c'), event('d'))

  one.resolve(['stored', 'seen before'])
  const two = await batches.call(1)
  two.resolve(stored(2))

  expect([one.keys, two.keys]).toEqual([
    ['a', 'b'],
    ['c', 'd'],
  ])
  expect(await Promise.all([...first, ...second])).toEqual(['stored', 'seen before', 'stored', 'stored'])
  expect(batches.reported).toEqual(['committed a,b', 'committed c,d'])
})

test('a batch holds at most 200 events or four MiB, but at least one event', async () => {
  const batches = openBatches()
  const mebibyte = 1024 * 1024
  const many = Array.from({ length: 201 }, (_, index) => event(`${index}`))
  const large = [event('x', 3 * mebibyte), event('y', 2 * mebibyte), event('z', 5 * mebibyte), event('last')]

  const answers = batches.add(...many, ...large)
  const sizes: number[] = []
  for (let number = 0; number < 5; number += 1) {
    const call = await batches.call(number)
    sizes.push(call.keys.length)
    call.resolve(stored(call.keys.length))
  }

  expect(sizes).toEqual([200, 2, 1, 1, 1])
  expect(await Promise.all(answers)).toHaveLength(205)
})

test('a failed batch fails for its own events and no others', async () => {
  const batches = openBatches()
  const [a, b] = batches.add(event('a'), event('b'))
  const one = await batches.call(0)
  const [c] = batches.add(event('c'))

  one.reject(new Error('no'))
  const two = await batches.call(1)
  two.resolve(stored(1))

  await expect(a).rejects.toThrow('no')
  await expect(b).rejects.toThrow('no')
  expect(await c).toBe('stored')
  expect(batches.reported).toEqual(['failed a,b', 'committed c'])
})

test('a batch that hangs delays no other, and is reported when it ends', async () => {
  const batches = openBatches({ patienceMs: 50 })
  const [a] = batches.add(event('a'))
  const one = await batches.call(0)
  await expect(a).rejects.toThrow('50 ms')

  const [b] = batches.add(event('b'))
  const two = await batches.call(1)
  two.resolve(stored(1))
  await b
  one.resolve(stored(1))
  const [c] = batches.add(event('c'))
  const three = await batches.call(2)
  three.resolve(stored(1))
  await c

  expect(batches.reported).toEqual(['failed a', 'committed b', 'committed a', 'committed c'])
})

test('a store that does not answer gets at most four batches, and the next ones when it answers again', async () => {
  const batches = openBatches({ patienceMs: 20 })
  const calls: Call[] = []
  for (let turn = 0; turn < 4; turn += 1) {
    const [answer] = batches.add(event(`${turn}`))
    calls.push(await batches.call(turn))
    await expect(answer).rejects.toThrow('20 ms')
  }

  const [fifth] = batches.add(event('5'))
  await expect(fifth).rejects.toThrow('20 ms')
  calls[0]?.resolve(stored(1))
  await calls[0]?.promise
  const [sixth] = batches.add(event('6'))
  const next = await batches.call(4)
  next.resolve(stored(1))

  expect(next.keys).toEqual(['6'])
  expect(await sixth).toBe('stored')
})
