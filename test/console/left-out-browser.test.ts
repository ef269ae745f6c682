import { afterAll, beforeAll, expect, test } from 'vitest'
import { approveRun, previewPart } from '../../src/sync/sync.ts'
import { excessOf, violationsOn } from '../helpers/axe.ts'
import { openConsole } from '../helpers/console.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { change, type Host, openWorld, staff, startHost } from '../helpers/world.ts'
import { newWindow, textOf } from './windows.ts'

let host: Host
let chromium: Awaited<ReturnType<typeof startChromium>>
beforeAll(async () => {
  host = await startHost()
  chromium = await startChromium()
})
afterAll(async () => {
  await chromium[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const everybody = staff(100)
// The last people stay: an export without them looks as if its end were cut off.
const staying = everybody.slice(12)
const people = everybody.slice(0, 8).map(({ id }) => id)

/** A company in whose nights four people wait who were left out of a part. */
async function openWaiting() {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const world = opening.use(await openWorld({ client }))
  await world.night(everybody, { asOf: '2026-11-18T01:00:00.000Z' })
  const { id: runId } = await world.night(staying, { asOf: '2026-11-19T01:00:00.000Z' })
  const { digest } = await previewPart(world.sync, { runId, selection: { people } })
  await approveRun(world.sync, { runId, digest, part: { people }, by: 'ana' })
  await world.drain()
  const night = await world.night(change(staying, { id: 'E0020', title: 'Lead' }), { asOf: '2026-11-20T01:00:00.000Z' })
  const console = opening.use(await openConsole(world))
  const opened = opening.move()
  return { runId, night, console, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

test('people who were left out lead to the plan that decides, and so does the plan that they were left out of', async () => {
  await using opened = await openWaiting()
  const { runId, night, console } = opened
  await using window = await newWindow(chromium, console)
  const { page, go, press } = window
  const widths = [1440, 768, 360]
  const about: [number, string[], number][] = []

  await go('/problems')
  const problems = await textOf(page, 'main')
  for (const width of widths) {
    await page.setViewport({ width, height: 900 })
    about.push([width, await violationsOn(page), await excessOf(page)])
  }
  await go('/person?connection=acme&key=E0009')
  const person = await textOf(page, 'main')
  await go(`/runs/${night.id}`)
  const wentOn = await textOf(page, 'main')
  await go(`/runs/${runId}`)
  await press('Review the new plan')
  const decision = await textOf(page, 'main')

  expect(problems).toContain('E0009')
  expect(problems).toContain('Decide about the held plan')
  expect(about).toEqual(widths.map((width) => [width, [], 0]))
  expect(person).toContain(`Left out of run ${runId.slice(0, 8)} (part approved by ana on `)
  expect(person).toContain('Waits for an approval')
  expect(wentOn).toContain(`A guard holds 4 people in run ${night.heldPart?.slice(0, 8)}: review that plan.`)
  expect(page.url()).toContain(`/runs/${night.heldPart}/decision`)
  expect(decision).toMatch(new RegExp(`All others went on in *run ${night.id.slice(0, 8)}`))
})
