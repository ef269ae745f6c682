import { expect, test } from 'vitest'
import { readReadable } from '../../../src/sync/plan/readable-events.ts'
import { webhookFeed } from '../../helpers/events.ts'

const at = '2026-11-20T02:10:00.000Z'
const now = new Date('2026-11-20T03:00:00.000Z')

function read(employees: readonly object[], mayLeave: boolean) {
  const events = employees.map((employee, number) => ({
    id: String(number + 1),
    eventId: null,
    signedAt: null,
    receivedAt: at,
    body: Buffer.from(JSON.stringify({ type: 'updated', at, employee })),
  }))
  return readReadable(events, webhookFeed(), { now, mayLeave })
}

const rowsOf = async ({ reading }: ReturnType<typeof read>) => (await Array.fromAsync(reading.rows)).flat()

test('one ambiguous event among many with a path of their own is set aside, and all others are read', async () => {
  const many = Array.from({ length: 300 }, (_, i) => ({ id: `E${i}`, [`note ${i}`]: 'x' }))
  const found = read([...many, { id: 'E4', left: '2026-11-19', Left: '2026-11-18' }], true)

  const rows = await rowsOf(found)
  expect(rows.flatMap(({ fault, origin }) => (fault ? [[origin, fault.reason]] : []))).toEqual([
    [{ event: '301', line: 1 }, expect.stringContaining('employee.Left')],
  ])
  expect([rows.length, found.left]).toEqual([301, []])
})

test.each([
  ['left to the next run', true, ['2', '4'], 0],
  ['set aside where the run may leave none', false, [], 2],
])('events that spell a mapped path otherwise are %s', async (_, mayLeave, left, faults) => {
  const found = read(
    [
      { id: 'E1', left: '2026-11-19' },
      { id: 'E2', Left: '2026-11-19' },
      { id: 'E3', left: null },
      { id: 'E4', LEFT: null },
    ],
    mayLeave,
  )

  expect(found.left).toEqual(left)
  expect((await rowsOf(found)).filter(({ fault }) => fault)).toHaveLength(faults)
})

test('a path that each event spells in its own way costs each event the same', () => {
  const spelled = (i: number) => i.toString(2).padStart(12, '0').replaceAll('0', '-').replaceAll('1', '_')
  const many = Array.from({ length: 3000 }, (_, i) => ({ id: `E${i}`, [`no${spelled(i)}te`]: 'x' }))
  const started = performance.now()

  const found = read([...many, { id: 'E4', left: '2026-11-19', Left: '2026-11-18' }], true)

  expect(found.left).toEqual([])
  expect(performance.now() - started).toBeLessThan(5000)
})

test('a path that is not mapped may be spelled in several ways', async () => {
  const found = read(
    [
      { id: 'E1', note: 'x' },
      { id: 'E2', Note: 'x' },
      { id: 'E3', left: '2026-11-19' },
      { id: 'E4', Left: '2026-11-19' },
    ],
    true,
  )

  expect(found.left).toEqual(['4'])
})
