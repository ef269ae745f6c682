import { describe, expect, test } from 'vitest'
import { type DemoSummary, renderSecondAct, troubleOf } from '../../../src/cli/demo/report.ts'
import type { SecondAct } from '../../../src/cli/demo/second-act.ts'
import { plain } from '../../../src/cli/render/text.ts'
import type { Run } from '../../../src/contract/control/shapes.ts'
import { runDocument } from '../../helpers/control-documents.ts'

const none = { requests: 0, people: 0 }
const one = { requests: 1, people: 1 }
const nothingSent = { upsert: none, update: none, delete: none, session: none }
const separating = { sent: { ...nothingSent, update: one } }
const quiet = (run: Partial<Run>): Run => runDocument({ sent: nothingSent, ...run })

/** The second act of a demo that goes well, with these differences. */
function secondAct({ held = {}, rejected = {}, repaired = {} } = {}): SecondAct {
  return {
    export: 'people-cut.csv',
    share: 0.6,
    held: { ...quiet({ state: 'held', ...held }), changes: [], rejects: [] } as unknown as SecondAct['held'],
    rejected: quiet({ state: 'rejected', ...rejected }),
    repaired: quiet({ state: 'unchanged', ...repaired }),
  }
}

const night = (run: Partial<Run>) => ({ export: 'people.csv', run: quiet(run) }) as DemoSummary['nights'][number]
const good = {
  nights: [night({ state: 'finished' })],
  again: quiet({ state: 'unchanged' }),
  cut: secondAct(),
  arrival: { arrived: 256, missing: [], unexpected: [], story: [] },
}

test.each([
  [null, {}],
  ['the platform differs from HR for W1, W2', { arrival: { ...good.arrival, missing: ['W1', 'W2'] } }],
  ['the platform has people whom no export names: X1', { arrival: { ...good.arrival, unexpected: ['X1'] } }],
  ['the export that was cut short was not held', { cut: secondAct({ held: { state: 'finished' } }) }],
  [
    'the run of the export that was cut short is delivering, and not rejected',
    { cut: secondAct({ rejected: { state: 'delivering' } }) },
  ],
  ['1 request sent for the export that was cut short', { cut: secondAct({ rejected: separating }) }],
  ['1 request sent for the same export once more', { again: quiet({ state: 'finished', ...separating }) }],
  ['the run of the same export once more ended as failed', { again: quiet({ state: 'failed' }) }],
  [
    '1 request sent for the whole export after the one that was cut short',
    { cut: secondAct({ repaired: { state: 'finished', ...separating } }) },
  ],
  ['the run of people.csv ended as delivering', { nights: [night({ state: 'delivering' })] }],
])('the demo went well only if each step did what it says: %s', (trouble, differences) => {
  expect(troubleOf({ ...good, ...differences })).toBe(trouble)
})

describe('the second act', () => {
  test('states that no one was separated only if nothing was sent', () => {
    const [well, badly] = [secondAct(), secondAct({ repaired: { state: 'finished', ...separating } })].map((cut) =>
      renderSecondAct(cut, plain),
    )

    expect(well).toContain(
      '0 requests sent for the export that was cut short, 0 for the whole one: no one was separated\n',
    )
    expect(badly).toContain('0 requests sent for the export that was cut short, 1 for the whole one\n')
    expect(badly).not.toContain('nobody')
  })

  test('shows no decision about a plan that was not held', () => {
    const text = renderSecondAct(secondAct({ held: { state: 'failed', reason: 'the disk is full' } }), plain)

    expect(text).toContain('acme: failed: the disk is full')
    expect(text).not.toMatch(/Held|rollcall reject/)
  })

  test('reports that something was sent for a held plan', () => {
    const guards = [{ name: 'leavers', actual: 90, limit: 50, ok: false }]

    const text = renderSecondAct(secondAct({ held: { guards, ...separating } }), plain)

    expect(text).toContain('Held, but 1 request sent')
    expect(text).not.toContain('nothing was sent')
  })
})
