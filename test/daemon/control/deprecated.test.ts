import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { control, controlPrefix } from '../../../src/contract/control/control.ts'
import { isEndedOrHeld } from '../../../src/contract/control/shapes.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { Secret } from '../../../src/daemon/config/secret.ts'
import { startDaemon } from '../../../src/daemon/start.ts'
import { createClient } from '../../../src/http/client/client.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { install } from '../../helpers/installation.ts'
import { change, type Host, staff, startHost } from '../../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const token = 'token-of-the-daemon'

/** A daemon with one person whose leaving date cannot be read. */
async function openDaemon() {
  await using opening = new AsyncDisposableStack()
  const { key } = await host.tenant()
  const at = opening.use(await install({ baseUrl: host.platform.baseUrl, key }, { hasStore: true }))
  await at.writeExport(change(staff(5), { id: 'E0004', leavingDate: '31/02/2025' }))
  const config = await loadConfig(at.configFile, process.env)
  const server = { ...config.server, token: new Secret([{ text: token }]) }
  const daemon = opening.use(await startDaemon({ ...config, server }, { events: silentEvents() }))
  const client = createClient(control, { baseUrl: `${daemon.url}${controlPrefix}`, bearer: token })
  const run = await client.startRun({ params: { connection: 'acme' }, body: {} })
  if (run.status !== 201) throw new Error('no run was started')
  const { id: runId } = run.body
  const ended = await vi.waitUntil(
    async () => {
      const answer = await client.getRun({ params: { runId } })
      return answer.status === 200 && isEndedOrHeld(answer.body) && answer.body
    },
    { timeout: 120_000 },
  )
  const opened = opening.move()
  return { url: daemon.url, ended, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

async function get(address: string) {
  const response = await fetch(address, { headers: { authorization: `Bearer ${token}` } })
  const { status, headers } = response
  return { status, deprecation: headers.get('deprecation'), link: headers.get('link'), text: await response.text() }
}

test('the old path, field and metric of what was called unserved or wanted exist beside the new ones', async () => {
  await using opened = await openDaemon()
  const { url, ended } = opened
  const api = `${url}${controlPrefix}`

  const old = await get(`${api}/unserved?connection=acme`)
  const current = await get(`${api}/blocked-people?connection=acme`)
  const refused = await fetch(`${api}/unserved`)
  const status = await get(`${api}/status`)
  const person = await get(`${api}/connections/acme/people/E0004`)
  const metrics = await get(`${url}/metrics`)

  const link = '</api/v1/blocked-people>; rel="successor-version"'
  expect(old).toMatchObject({ status: 200, deprecation: expect.stringMatching(/^@\d+$/), link })
  expect(current).toMatchObject({ status: 200, deprecation: null, link: null })
  expect(refused.status).toBe(401)
  const blocked = [{ identityId: 'E0004', column: 'Leaving Date' }]
  for (const { text } of [old, current]) expect(JSON.parse(text)).toMatchObject({ data: blocked })
  const counts = { people: 1, leavers: 1, rows: 0 }
  expect(ended).toMatchObject({ blockedPeople: counts, unserved: counts, heldPart: null, setAside: null })
  expect(JSON.parse(status.text)).toMatchObject({ connections: [{ blockedPeople: counts, unserved: counts }] })
  const faults = [{ column: 'Leaving Date' }]
  expect(JSON.parse(person.text)).toMatchObject({ blockedBy: faults, unserved: faults })
  expect(JSON.parse(person.text)).toHaveProperty('wanted.identityId', 'E0004')
  expect(JSON.parse(status.text)).toHaveProperty('connections.0.people.wanted', 5)
  expect(metrics.text).toContain('rollcall_people{connection="acme",state="wanted"} 5')
  for (const name of ['rollcall_blocked_people', 'rollcall_unserved_people'])
    expect(metrics.text).toContain(`${name}{connection="acme",who="leavers"} 1`)
})
