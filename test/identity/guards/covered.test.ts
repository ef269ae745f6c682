import { expect, test } from 'vitest'
import type { Verdict } from '../../../src/identity/change.ts'
import { areCovered } from '../../../src/identity/guards/covered.ts'

const failed = (name: string, overrides: Partial<Verdict> = {}): Verdict => ({
  name,
  actual: 8,
  limit: 5,
  ok: false,
  reason: '8 of 100',
  ...overrides,
})
const columns = (...names: string[]) =>
  failed('missingColumn', { actual: names.length, limit: null, reason: names.join('; ') })
const pairs = (...hints: string[]) => failed('rekeyed', { actual: hints.length, limit: 0, hints })
const pins = (...people: string[]) => failed('pinned', { actual: people.length, limit: 0, people })

test.each<[string, boolean, Verdict, Verdict[]]>([
  ['the same number', true, failed('leavers'), [failed('leavers')]],
  ['fewer, in other words', true, failed('leavers', { actual: 7, reason: '7 of 90' }), [failed('leavers')]],
  ['one more', false, failed('leavers', { actual: 9 }), [failed('leavers')]],
  ['a guard that was well before', false, failed('leavers'), [failed('leavers', { ok: true })]],
  ['another guard', false, failed('leavers'), [failed('joiners')]],
  ['a guard that is well now', true, failed('leavers', { ok: true }), []],
  ['the same column', true, columns('title'), [columns('title')]],
  ['another column', false, columns('e-mail'), [columns('title')]],
  ['a further column', false, columns('title', 'e-mail'), [columns('title')]],
  ['the same pair of keys', true, pairs('A → B: the same name'), [pairs('A → B: the same name')]],
  ['another pair of keys', false, pairs('A → C: the same name'), [pairs('A → B: the same name')]],
  ['people left in a plan that is approved now', true, failed('leftUnapproved', { limit: 0 }), []],
  ['the same pinned person', true, pins('E1'), [pins('E1')]],
  ['fewer pinned people', true, pins('E2'), [pins('E1', 'E2')]],
  ['another pinned person', false, pins('E2'), [pins('E1')]],
])('of %s, whether an approval covers it is %s', (_, isCovered, now, approved) => {
  expect(areCovered([now], approved)).toBe(isCovered)
})
