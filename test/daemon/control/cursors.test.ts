import { expect, test } from 'vitest'
import { nextCursor, RunCursor, readCursor, TextCursor, writeCursor } from '../../../src/daemon/control/cursors.ts'

const scope = { list: 'changes', runId: 'r1', kind: 'leave' }

test('a cursor is read back by the list that gave it out, whatever the order of its filters', () => {
  const cursor = writeCursor({ ...scope, state: undefined }, 'E0001')

  expect(readCursor({ kind: 'leave', runId: 'r1', list: 'changes' }, cursor, TextCursor)).toBe('E0001')
})

test('a list without a cursor begins at its beginning', () => {
  expect(readCursor(scope, undefined, TextCursor)).toBeUndefined()
})

test.each([
  ['of another list', writeCursor({ ...scope, list: 'rejects' }, 'E0001')],
  ['of another filter', writeCursor({ ...scope, kind: 'join' }, 'E0001')],
  ['that was cut off', writeCursor(scope, 'E0001').slice(0, -1)],
  ['with a character changed', writeCursor(scope, 'E0001').replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))],
  ['with something behind it', `${writeCursor(scope, 'E0001')}=`],
  ['that holds another place', writeCursor(scope, { createdAt: 'now', id: 7 })],
  ['that is no cursor', 'E0001'],
  ['that is empty', ''],
])('a cursor %s is refused', (_name, cursor) => {
  expect(() => readCursor(scope, cursor, TextCursor)).toThrow('after: this value belongs to another list')
})

test('a page that is not full has nothing behind it', () => {
  const run = { createdAt: '2026-11-20T01:00:00.000Z', id: '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f' }

  expect(nextCursor(scope, { rows: [run], limit: 2 }, (last) => last)).toBeNull()
  const next = nextCursor(scope, { rows: [run], limit: 1 }, (last) => last)
  expect(readCursor(scope, next ?? undefined, RunCursor)).toEqual(run)
})
