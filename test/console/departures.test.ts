import { afterAll, beforeAll, expect, test } from 'vitest'
import { stateDeparture } from '../../src/sync/requests/stated-departures.ts'
import { withdrawDeparture } from '../../src/sync/requests/withdrawn-departures.ts'
import { createVisitor } from '../helpers/console.ts'
import { type Host, startHost } from '../helpers/world.ts'
import { type Company, openCompany } from './company.ts'

let host: Host
let company: Company
beforeAll(async () => {
  host = await startHost()
  company = await openCompany(host, { people: 33, twoPeople: true })
})
afterAll(async () => {
  await company[Symbol.asyncDispose]()
  await host[Symbol.asyncDispose]()
})

const ana = { connection: 'acme', reason: 'dismissed', by: 'ana', principal: 'token:ana' }
const query = (key: string) => new URLSearchParams({ connection: 'acme', key }).toString()

test('the form of the second person names the day and sends it, and refuses one that changed meanwhile', async () => {
  const { sync } = company.world
  const eva = createVisitor(company.console.url, 'eva.approver')
  const departure = { ...ana, identityId: 'E0010' }
  await stateDeparture(sync, { ...departure, on: '2026-12-01' })
  const { text } = await eva.get(`/person/state-departure?${query('E0010')}`)
  await withdrawDeparture(sync, departure)
  await stateDeparture(sync, { ...departure, on: '2026-12-24' })
  const form = { token: 'token of eva', connection: 'acme', key: 'E0010', reason: 'I agree', approves: '1' }
  const stale = await eva.post('/person/state-departure', { ...form, on: '2026-12-01' })
  const fresh = await eva.post('/person/state-departure', { ...form, on: '2026-12-24' })

  expect(text).toContain('Once a second person states 2026-12-01 too, that day applies at once.')
  expect(text).toContain('name="on" value="2026-12-01"')
  expect(text).toContain('name="approves" value="1"')
  expect(stale.status).toBe(409)
  expect(stale.text).toContain('The last day of E0010 is 2026-12-24, as ana states: that changed since you saw it')
  expect(stale.text).toContain('name="on" value="2026-12-24"')
  expect(fresh.status).toBe(303)
})

test('an emergency can be corrected, and the form of its withdrawal says who withdraws it alone', async () => {
  const { sync } = company.world
  const eva = createVisitor(company.console.url, 'eva.approver')
  await stateDeparture(sync, { ...ana, identityId: 'E0011', on: '2026-12-01', emergency: true })
  const page = await eva.get(`/person?${query('E0011')}`)
  const correction = await eva.get(`/person/state-departure?${query('E0011')}&as=correction`)
  const withdrawal = await eva.get(`/person/withdraw-departure?${query('E0011')}`)

  expect(page.text).toMatch(/<a class="[^"]*main[^"]*"[^>]*>State it too/)
  expect(page.text).not.toMatch(/<a class="[^"]*main[^"]*"[^>]*>Sync now/)
  expect(page.text).toContain('Correct the day')
  expect(correction.text).toContain('Correct the last day of E0011?')
  expect(correction.text).toMatch(/<input[^>]*id="on"[^>]*value="2026-12-01"/)
  expect(withdrawal.text).toContain('Only ana stated it, so any other person can withdraw it at once.')
})
