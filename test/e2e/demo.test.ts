import { readdir } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import type { DemoSummary } from '../../src/cli/demo/report.ts'
import { rollcall, startCommand } from '../helpers/cli.ts'

const demoFolders = async (): Promise<string[]> =>
  (await readdir(tmpdir())).filter((name) => name.startsWith('rollcall-demo-'))

test('the demo brings two nights to the platform, sends nothing for the same export again, and leaves nothing behind', async () => {
  const before = await demoFolders()

  const { exit, stdout } = await rollcall(['demo', '--json'])

  const summary: DemoSummary = JSON.parse(stdout)
  const [first, second] = summary.nights
  expect(exit).toBe(0)
  expect(first?.run).toMatchObject({ state: 'finished', counts: { join: 250 }, confirmed: 250 })
  expect(second?.run).toMatchObject({
    state: 'finished',
    counts: { join: 6, update: 9, leave: 5, return: 1, correct: 1, retract: 0, rejected: 0, incomplete: 1 },
    confirmed: 22,
    problems: 0,
  })
  expect(second?.plan.rejects).toMatchObject([
    { column: 'Hire Date', reason: expect.stringContaining('is not a date') },
  ])
  expect(summary.again).toMatchObject({
    state: 'unchanged',
    sent: { upsert: { requests: 0 }, update: { requests: 0 }, delete: { requests: 0 } },
  })
  expect(summary.cut.held).toMatchObject({ state: 'held', sent: { upsert: { requests: 0 }, update: { requests: 0 } } })
  expect(summary.cut.held.changes.filter(({ kind }) => kind === 'leave').length).toBeGreaterThan(50)
  expect(summary.cut.rejected).toMatchObject({ state: 'rejected', decidedReason: 'the export was cut short' })
  expect(summary.cut.repaired).toMatchObject({ state: 'unchanged', sent: { update: { requests: 0 } } })
  expect(summary.arrival).toMatchObject({ arrived: 256, missing: [], unexpected: [] })
  expect(second?.identitySync?.counts).toMatchObject({
    CURRENT_EMPLOYEE: expect.any(Number),
    FORMER_EMPLOYEE: expect.any(Number),
  })
  expect(await demoFolders()).toEqual(before)
})

test('in its readable form the demo prints what happened to whom and why', { tags: ['full'] }, async () => {
  const { exit, stdout } = await rollcall(['demo', '--once'])

  expect(exit).toBe(0)
  expect(stdout).toMatch(/Held, and nothing was sent\n +✖ /)
  expect(stdout).toMatch(/Leavers \(\d{2,3}\)\n +- W\d{5} .*\n +\p{L}+ .* · .* · manager .*@example\.com/u)
  expect(stdout).toMatch(/rollcall reject @held --reason "the export was cut short"\n +- acme: rejected by the demo/)
  expect(stdout).toContain(
    '0 requests sent for the export that was cut short, 0 for the whole one: no one was separated',
  )
  expect(stdout).toMatch(/Leavers \(5\)/)
  expect(stdout).toMatch(/W\d{5} +is missing from the export.*FORMER_(EMPLOYEE|CONTRACTOR), left \d{4}-\d{2}-\d{2}/)
  expect(stdout).toMatch(/W\d{5} +has a leaving date ahead: it waits until that day +CURRENT_/)
  expect(stdout).toMatch(/✔ all 256 people are on the platform as HR says/)
})

test('the demo begins at once, reports Ctrl-C and leaves nothing behind', async () => {
  const before = await demoFolders()
  await using demo = startCommand(['demo', '--once'])
  await demo.waitForOutput('The platform listens on')

  demo.child.kill('SIGINT')
  const { exit, stderr } = await demo.ended

  expect(exit).toBe(130)
  expect(stderr).toMatch(
    /^A platform, a company of 250 invented people, two nights of HR exports, and an export that is cut short\./,
  )
  expect(stderr.trim().split('\n').at(-1)).toBe('stopped')
  expect(await demoFolders()).toEqual(before)
})
