import { expect, test } from 'vitest'
import { readReadable } from '../../../src/sync/plan/readable-events.ts'
import { webhookFeed } from '../../helpers/events.ts'

const at = '2026-11-20T02:10:00.000Z'
const now = new Date('2026-11-20T03:00:00.000Z')

function read(employees: readonly object[], mayDefer: boolean) {
  const events = employees.map((employee, number) => ({
    id: String(number + 1),
    eventId: null,
    signedAt: null,
    receivedAt: at,
    body: Buffer.from(JSON.stringify({ type: 'updated', at, employee })),
  }))
  return readReadable(events, webhookFeed(), { now, mayDefer })
}

const rowsOf = async ({ reading }: ReturnType<typeof read>) => (await Array.fromAsync(reading.rows)).flat()

test('rejects one ambiguous event among many with paths of their own, and reads all others', async () => {
  const many = Array.from({ length: 300 }, (_, i) => ({ id: `E${i}`, [`note ${i}`]: 'x' }))
  const result = read([...many, { id: 'E4', left: '2026-11-19', Left: '2026-11-18' }], true)

  const rows = await rowsOf(result)
  expect(rows.flatMap(({ fault, origin }) => (fault ? [[origin, fault.reason]] : []))).toEqual([
    [{ event: '301', line: 1 }, expect.stringContaining('employee.Left')],
  ])
  expect([rows.length, result.deferred]).toEqual([301, []])
})

test.each([
  ['deferred to the next run', true, ['2', '4'], 0],
  ['rejected if the run may defer none', false, [], 2],
])('events with another spelling of a mapped path are %s', async (_, mayDefer, deferred, faults) => {
  const result = read(
    [
      { id: 'E1', left: '2026-11-19' },
      { id: 'E2', Left: '2026-11-19' },
      { id: 'E3', left: null },
      { id: 'E4', LEFT: null },
    ],
    mayDefer,
  )

  expect(result.deferred).toEqual(deferred)
  expect((await rowsOf(result)).filter(({ fault }) => fault)).toHaveLength(faults)
})

test('reading stays linear if each event spells a path differently', () => {
  const spelled = (i: number) => i.toString(2).padStart(12, '0').replaceAll('0', '-').replaceAll('1', '_')
  const many = Array.from({ length: 3000 }, (_, i) => ({ id: `E${i}`, [`no${spelled(i)}te`]: 'x' }))
  const started = process.cpuUsage()

  const result = read([...many, { id: 'E4', left: '2026-11-19', Left: '2026-11-18' }], true)

  expect(result.deferred).toEqual([])
  // Of the processor: other tests run beside this one.
  expect(process.cpuUsage(started).user / 1000).toBeLessThan(5000)
})

test('an unmapped path may have several spellings', async () => {
  const result = read(
    [
      { id: 'E1', note: 'x' },
      { id: 'E2', Note: 'x' },
      { id: 'E3', left: '2026-11-19' },
      { id: 'E4', Left: '2026-11-19' },
    ],
    true,
  )

  expect(result.deferred).toEqual(['4'])
})
