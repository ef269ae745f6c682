import { afterAll, beforeAll, expect, test } from 'vitest'
import { install } from '../helpers/installation.ts'
import { change, type Host, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const everybody = staff(100)
// The last people stay: an export without them looks as if its end were cut off.
const staying = everybody.slice(12)
const approved = everybody.slice(0, 8).map(({ id }) => id)
type ShownRun = { readonly id: string }

test('people who were left out of a part are predicted, named, and decided about by the id of last night', async () => {
  const { key } = await host.tenant()
  await using at = await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true })
  await at.writeExport(everybody)
  await at.run('sync')
  await at.writeExport(staying)
  await at.run('sync')
  const { document: held } = await at.json<ShownRun>('run', '@held')
  const part = await at.run('approve', held.id, '--people', approved.join(','), '--yes')
  const short = (id: string) => id.slice(0, 8)

  await at.writeExport(change(staying, { id: 'E0020', title: 'Lead' }))
  const plan = await at.run('plan')
  const kept = await at.run('plan', '--out', `${at.folder}/plan.json`)
  const check = await at.run('check')
  const second = await at.run('sync')
  const { id: waiting } = (await at.json<ShownRun>('run', '@held')).document
  const { document: problems } = await at.json<{ leftOut: object[] }>('problems')
  const listed = await at.run('problems')
  const status = await at.run('status')
  const person = await at.run('person', 'E0009')
  await at.writeExport(change(staying, { id: 'E0020', title: 'Head' }))
  const third = await at.run('sync')
  const { document: newest } = await at.json<ShownRun>('run', '@held')
  const replaced = await at.run('run', waiting)
  const answer = await at.run('approve', waiting, '--yes')
  const after = await at.run('problems')

  const predicted = `4 people who were left out of run ${short(held.id)} wait for a decision; all others would be delivered`
  expect(part.exit).toBe(0)
  expect([plan.exit, check.exit, second.exit, third.exit]).toEqual([65, 65, 65, 65])
  expect(plan.stdout).toContain(`\n${predicted}.\n`)
  expect(kept.stdout).toContain('That run would hold everybody')
  expect(check.stdout).toContain(`source of acme: ${predicted}`)
  expect(check.stdout).not.toContain('would be held')
  expect(second.stdout).toContain(
    `‖ 4 people are held in run ${short(waiting)}: leftUnapproved: 4 people were left out`,
  )
  expect(second.stdout).toMatch(new RegExp(`rollcall .*approve ${short(waiting)}  delivers it`))
  expect(problems.leftOut).toMatchObject(
    everybody.slice(8, 12).map(({ id }) => ({ identityId: id, departs: true, held: { runId: waiting } })),
  )
  expect(listed.stdout).toContain('Left out when a part of a plan was approved\n')
  expect(listed.stdout).toMatch(
    new RegExp(`E0009 +departure .*approve ${short(waiting)} +left out of run ${short(held.id)}`),
  )
  expect(status.stdout).toContain('4 people were left out when a part of a plan was approved and wait, the first since')
  expect(person.stdout).toMatch(
    new RegExp(`left out of run ${short(held.id)} \\(part approved by .*approve ${short(waiting)}`),
  )
  expect(replaced.stdout).toContain(`run ${short(newest.id)}, which is held`)
  expect([answer.exit, answer.stderr]).toEqual([0, expect.stringContaining(`was replaced by run ${short(newest.id)}`)])
  expect(after.stdout).toBe('No problems.\n')
})
