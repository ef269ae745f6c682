import { expect, test } from 'vitest'
import { renderLeftOut, runTexts } from '../../../src/cli/render/left-out.ts'
import { plain } from '../../../src/cli/render/text.ts'
import { leftOutDecision } from '../../../src/contract/control/person-texts.ts'

const runId = '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'
const heldId = '0298c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'
const departure = {
  connection: 'acme',
  identityId: '1222',
  departs: true,
  since: '2026-11-18T02:00:00.000Z',
  ageSeconds: 2 * 86_400,
  runId,
  approved: { by: 'ana', at: '2026-11-18T02:00:00.000Z' },
  held: { runId: heldId, isExpired: false },
}
const values = { ...departure, identityId: '1223', departs: false, approved: null, held: null }

test('people who were left out are listed with what waits, how long, what decides and of which run', () => {
  const people = [departure, values]

  expect(
    renderLeftOut(people, plain),
  ).toBe(`CONNECTION  KEY   WAITS           FOR  DECISION                                       WHY
acme        1222  departure       2 d  decide with: rollcall approve 0298c5d1         left out of run 0198c5d1 (part approved by ana on 2026-11-18 02:00 UTC)
acme        1223  another change  2 d  nothing is to decide until HR states it again  left out of run 0198c5d1`)
  expect(renderLeftOut([{ ...departure, name: 'Ada Fox' }], plain)).toMatch(/ KEY +NAME +WAITS .*\n.* 1222 +Ada Fox /)
})

test('a held run that has expired is planned again before anybody decides', () => {
  const expired = { held: { runId: heldId, isExpired: true } }

  expect(leftOutDecision(expired, runTexts).join('')).toBe('run 0298c5d1 has expired: the next run plans it again')
})
