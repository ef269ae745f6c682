import { describe, expect, test } from 'vitest'
import { renderOutcome, renderRun, renderRuns, renderVerification } from '../../../src/cli/render/run.ts'
import { plain } from '../../../src/cli/render/text.ts'
import { exitCodeOf } from '../../../src/cli/session/follow-run.ts'
import type { Run } from '../../../src/contract/control/shapes.ts'
import { counts, runDocument } from '../../helpers/control-documents.ts'

const id = '0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f'
const other = '7b3fe201-1a2b-7c3d-8e4f-5a6b7c8d9e10'
const [short, otherShort] = ['0198c5d1', '7b3fe201']

/** A run whose guard held four people in another run. */
function heldPartOf(overrides: Partial<NonNullable<Run['heldPartRun']>>): Pick<Run, 'heldPart' | 'heldPartRun'> {
  const reason = 'leftUnapproved: 4 people were left out'
  const held = { runId: other, state: 'held', people: 4, reason, decidedBy: null, replacedBy: null } as const
  return { heldPart: other, heldPartRun: { ...held, ...overrides } }
}

test('a run is shown with its source, its plan, what was sent and how the guards judged', () => {
  const run = runDocument({
    state: 'finished_with_problems',
    options: { full: true },
    confirmed: 3,
    problems: 1,
    guards: [{ name: 'leavers', actual: 1, limit: 50, ok: true }],
  })

  const text = renderRun(run, plain)

  expect(text).toBe(`run ${id} · acme · finished_with_problems
  trigger    operator (full)
  created    2026-11-20 02:00 UTC
  source     people.csv (52,100 bytes)
  as of      2026-11-20 01:00 UTC
  rows       1,000, 997 records
  plan       3 joiners, 1 leaver, 993 unchanged, 3 rejected rows
  digest     sha256:abc
  sent       upsert: 1 request for 3 people; update: 1 request for 1 person
  confirmed  3 changes
  problems   1
  took       1.3 s

Guards
  ✔ 1 guard passed: leavers 1 of at most 50`)
})

test('a source that was packed is shown with the size that the guards compare', () => {
  const run = runDocument({ source: { name: 'people.csv.gz', bytes: 9100, textBytes: 52_100 } })

  const text = renderRun(run, plain)

  expect(text).toContain('  source     people.csv.gz (9,100 bytes, 52,100 as plain text)\n')
})

describe('a verification', () => {
  const none = { lost: [], changed: [], foreign: [] }

  test('is shown by kind, with the keys that are known of each', () => {
    const keys = Array.from({ length: 100 }, (_, i) => `P${String(i).padStart(3, '0')}`)
    const verification = {
      listed: 1200,
      lost: 2,
      changed: 0,
      foreign: 250,
      people: { ...none, lost: ['1222', '1223'], foreign: keys },
    }

    const text = renderVerification(verification, plain)

    expect(text).toContain(`Lost: the platform no longer has them; they are sent again (2)
  1222, 1223

Foreign: only the platform has them; they are not changed (250)
  P000, P001, `)
    expect(text).toMatch(/P099, and 150 more$/)
    expect(text.split('\n').filter((line) => line.length > 102)).toEqual([])
  })

  test('shows only its counts if no keys were stored or nothing differs', () => {
    const old = { listed: 1200, lost: 2, changed: 0, foreign: 0 }
    const sound = { listed: 1200, lost: 0, changed: 0, foreign: 0, people: none }

    const texts = [renderVerification(old, plain), renderVerification(sound, plain)]

    expect(texts).toEqual(['', ''])
    expect(renderRun(runDocument({ verification: old, feed: 'roster' }), plain)).toContain(
      '  verified   1,200 people on the platform: 2 lost, 0 changed, 0 foreign\n',
    )
  })
})

test('runs stand in a table, the newest as the API gives them first', () => {
  const runs = [
    runDocument({ state: 'failed', counts: null, reason: 'cannot read people.csv' }),
    runDocument({ state: 'unchanged', counts: counts({ unchanged: 12 }) }),
  ]

  const text = renderRuns(runs, plain)

  expect(text).toBe(`RUN       CONNECTION  CREATED               STATE      CHANGES
${short}  acme        2026-11-20 02:00 UTC  failed     cannot read people.csv
${short}  acme        2026-11-20 02:00 UTC  unchanged  12 unchanged`)
})

test('the table of no runs says that there are none', () => {
  const text = renderRuns([], plain)

  expect(text).toBe('No runs yet.')
})

describe('a run at its end', () => {
  const held = 'leavers: 21 of 300 people would be separated; the limit is 15'
  const cases = [
    [
      runDocument({ state: 'unchanged', counts: counts({ unchanged: 9 }) }),
      0,
      '✔ acme: nothing to change (9 unchanged)',
    ],
    [runDocument(), 0, '✔ acme: 4 changes delivered in 1.3 s (3 joiners, 1 leaver, 993 unchanged, 3 rejected rows)'],
    [
      runDocument({ options: { full: true }, counts: counts({ unchanged: 300 }), confirmed: 300 }),
      0,
      '✔ acme: 300 people delivered in 1.3 s (300 unchanged and sent again)',
    ],
    [
      runDocument({ options: { verify: true }, counts: counts({ update: 2, unchanged: 298 }), confirmed: 7 }),
      0,
      '✔ acme: 7 people delivered in 1.3 s (2 movers, 298 unchanged, 5 of them sent again)',
    ],
    [
      runDocument({ state: 'finished_with_problems', confirmed: 3, problems: 1, counts: counts({ join: 4 }) }),
      70,
      `! acme: 3 changes delivered in 1.3 s (4 joiners), 1 problem
  rollcall problems lists them; every later run tries them again`,
    ],
    [
      runDocument({ state: 'unchanged', heldPart: other, counts: counts({ unchanged: 9 }) }),
      65,
      `✔ acme: nothing to change (9 unchanged)
‖ a guard holds some of its people in run ${otherShort}`,
    ],
    [
      runDocument({ state: 'unchanged', ...heldPartOf({ state: 'held' }), counts: counts({ unchanged: 9 }) }),
      65,
      `✔ acme: nothing to change (9 unchanged)
‖ 4 people are held in run ${otherShort}: leftUnapproved: 4 people were left out
  rollcall run ${otherShort}      shows the plan
  rollcall approve ${otherShort}  delivers it`,
    ],
    [
      runDocument({
        ...heldPartOf({ state: 'finished', decidedBy: 'ana' }),
        confirmed: 1,
        counts: counts({ join: 1 }),
      }),
      65,
      `✔ acme: 1 change delivered in 1.3 s (1 joiner)
- 4 people in run ${otherShort}, approved by ana`,
    ],
    [
      runDocument({
        ...heldPartOf({ state: 'superseded', replacedBy: id }),
        confirmed: 1,
        counts: counts({ join: 1 }),
      }),
      65,
      `✔ acme: 1 change delivered in 1.3 s (1 joiner)
- 4 people in run ${otherShort}, replaced by run ${short}`,
    ],
    [
      runDocument({ state: 'held', reason: held }),
      65,
      `‖ acme: held: ${held}
  rollcall run ${short}      shows the plan
  rollcall approve ${short}  delivers it
  rollcall reject ${short}   rejects it`,
    ],
    [
      runDocument({ state: 'failed', failure: 'source_unreadable', reason: 'cannot read people.csv' }),
      66,
      '✖ acme: failed: cannot read people.csv',
    ],
    [runDocument({ state: 'failed', failure: null }), 70, '✖ acme: failed: no reason was recorded'],
    [runDocument({ state: 'cancelled', decidedBy: 'ana' }), 75, '- acme: cancelled by ana'],
    [runDocument({ state: 'superseded', reason: held }), 75, '- acme: superseded'],
  ] as const

  test.each(cases)('says what became of it and ends the command accordingly (case %#)', (run, exit, expected) => {
    const outcome = { text: renderOutcome(run, plain), exit: exitCodeOf(run) }

    expect(outcome).toEqual({ text: expected, exit })
  })

  const two = '2 people and 1 row without a readable key need attention, 1 of them may have left'

  test.each([
    [{ people: 2, leavers: 1, rows: 1 }, `${two}: rollcall problems`],
    [{ people: 1, leavers: 0, rows: 0 }, '1 person needs attention: rollcall problems'],
  ])('never says only that there is nothing to change while people are blocked (case %#)', (blockedPeople, line) => {
    const run = runDocument({ state: 'unchanged', counts: counts({ unchanged: 9 }), blockedPeople })

    const outcome = { text: renderOutcome(run, plain), exit: exitCodeOf(run) }

    expect(outcome).toEqual({ text: `✔ acme: nothing to change (9 unchanged)\n! acme: ${line}`, exit: 0 })
  })

  test('does not mention blocked people if its plan was not accepted', () => {
    const run = runDocument({ state: 'cancelled', blockedPeople: { people: 2, leavers: 1, rows: 1 } })

    expect(renderOutcome(run, plain)).toBe('- acme: cancelled')
  })

  test('names the people in doubt although all were delivered, without failing', () => {
    const inDoubt = { people: 1, leavers: 1, until: '2026-11-20T02:31:00.000Z' }
    const run = runDocument({ decidedBy: 'ana', counts: counts({ leave: 4 }), confirmed: 4, inDoubt })

    const outcome = { lines: renderOutcome(run, plain).split('\n'), exit: exitCodeOf(run) }

    expect(outcome.lines[1]).toBe(
      '! acme: 1 leaver is in doubt: the outcome of a request about them is unknown, and it may still take effect; ' +
        'the daemon or the next sync checks them until 2026-11-20 02:31 UTC at least',
    )
    expect(outcome.exit).toBe(0)
  })

  test('does not count the time that a person took to decide', () => {
    const run = runDocument({ decidedBy: 'ana', decidedAt: '2026-11-20T09:00:00.000Z', counts: counts({ leave: 4 }) })

    const text = renderOutcome(run, plain)

    expect(text).toBe('✔ acme: 4 changes delivered (4 leavers)')
  })
})
