import { afterAll, beforeAll, expect, test } from 'vitest'
import { createVisitor } from '../helpers/console.ts'
import { type Host, startHost } from '../helpers/world.ts'
import { type Company, openCompany } from './company.ts'

let host: Host
let company: Company
beforeAll(async () => {
  host = await startHost()
  company = await openCompany(host, { people: 40 })
})
afterAll(async () => {
  await company[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const shown = (text: string) => text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')

/** The page of a run as two people see it. */
async function pagesOf(runId: string) {
  const [olga, vera] = await Promise.all(
    ['olga.operator', 'vera.viewer'].map(async (who) =>
      shown((await createVisitor(company.console.url, who).get(`/runs/${runId}`)).text),
    ),
  )
  return { olga, vera }
}

test('the page of a run of one person leads from the row to the answer of the platform', async () => {
  const { world, console } = company
  await console.control.rejectRun({ params: { runId: company.held.id }, body: {} })
  const run = await console.control.startRun({ params: { connection: 'acme' }, body: { person: 'E0021' } })
  await world.drain()

  const { olga, vera } = await pagesOf(run.id)

  expect(olga).toContain('From the row to the response: E0021')
  expect(olga).toMatch(/Row people\.csv:22 .*First Name First name Person 21 Person 21/)
  expect(olga).toMatch(/Leaving Date Last day 2026-11-20 20 Nov 2026/)
  expect(olga).toMatch(
    /Decision Leaver .*Request update the person Last day 20 Nov 2026 .*Response .*the platform answered 200/,
  )
  expect(vera).toContain('From the row to the response: E0021')
  expect(vera).not.toContain('Person 21')
})

test('the page of a reverting run says who is reverted, who is not and why', async () => {
  const { world, console } = company
  const reverted = await console.control.revertRun({
    params: { runId: company.settled.id },
    body: { reason: 'the export was wrong' },
  })
  await world.drain()

  const { olga, vera } = await pagesOf(reverted.id)

  expect(olga).toContain(`Reverts run ${company.settled.id.slice(0, 8)}`)
  expect(olga).toMatch(/\d (?:person gets|people get) back the data from before that run\./)
  expect(vera).toContain('Reverts run')
  expect(vera).not.toMatch(/Person \d/)
})

test('the page of a retraction says that nothing is read', async () => {
  const retraction = await company.console.control.retractPerson({
    params: { connection: 'acme', identityId: 'E0002' },
    body: { reason: 'a test account' },
  })

  const { olga } = await pagesOf(retraction.id)

  expect(olga).toContain('Input nothing: a person requested the retraction')
})

test('the page of an ordinary run accounts for no more than its plan', async () => {
  const { olga } = await pagesOf(company.arrival.id)

  expect(olga).toContain('Input the source')
  expect(olga).not.toMatch(/From the row to the response|Reverts run/)
})
