import { Agent, request } from 'undici'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { openStore } from '../../src/daemon/installation/open-store.ts'
import { openPlatform } from '../../src/daemon/platform.ts'
import type { IdentityRecord } from '../../src/identity/record.ts'
import { report } from './report.ts'

// Posts the batches that the delivery makes of the planned run, in a loop that stores nothing and reads only the status.
const workers = 4

const config = await loadConfig(process.argv[2] ?? '', process.env)
const hr = config.connections.get('hr')
const shape = hr?.records?.shape
const bodies = await plannedBodies()
const headers = { authorization: `Bearer ${await config.platform.apiKey.read()}`, 'content-type': 'application/json' }
const dispatcher = new Agent()
const path = await newConnection(`Bare ${process.pid}`)

await report(async () => {
  const [first, ...queue] = bodies
  // The first records begin a session.
  if (shape && first) await post(path, [first])
  else if (first) queue.unshift(first)
  await Promise.all(Array.from({ length: workers }, () => post(path, queue)))
  if (shape) await post(`${path}/actions`, [{ text: '{"action":"complete"}', length: 0 }])
  return { count: bodies.reduce((people, { length }) => people + length, 0) }
})
await dispatcher.close()

type Body = { readonly text: string; readonly length: number }

async function plannedBodies(): Promise<Body[]> {
  await using store = await openStore(config)
  const { rows } = await store.pool.query<{ records: IdentityRecord[] }>(
    `select json_agg(record order by identity_id) as records
    from (select record, identity_id, batch, (row_number() over (partition by batch order by identity_id) - 1) / 1000 as part
      from changes where state = 'due') portions
    group by batch, part order by batch, part`,
  )
  return rows.map(({ records }) => {
    const text = JSON.stringify(shape ? { data: records.map((record) => shape.attributesOf(record)) } : records)
    return { text, length: records.length }
  })
}

/** Makes a connection of the same kind. Returns the path for its batches. */
async function newConnection(name: string): Promise<string> {
  await using platform = openPlatform(config, null)
  const { client } = platform
  if (!hr || !('type' in hr.target)) {
    const answer = await client.createCustomConnection({ body: { name, providerTypes: ['HRIS'] } })
    if (answer.status !== 201) throw new Error(`the platform answers ${answer.status}`)
    return `/custom-connections/${answer.body.id}/hris-user-identities`
  }
  const { workspaces: workspaceIds, displayNameKey, schema } = hr.target
  const body = { name, providerTypes: ['CUSTOM' as const], workspaceIds, displayNameKey, schema }
  const made = await client.createCustomConnection({ body })
  if (made.status !== 201) throw new Error(`the platform answers ${made.status}`)
  const params = { connectionId: made.body.id }
  const read = await client.getCustomConnection({ params, query: { 'expand[]': ['customResources'] } })
  const resource = read.status === 200 ? read.body.customResources?.[0] : undefined
  if (!resource) throw new Error('the platform has no resource for records')
  return `/custom-connections/${made.body.id}/resources/${resource.id}/sessions/bare-${process.pid}`
}

/** Sends the rest of the queue, one batch after the other. */
async function post(batchPath: string, queue: Body[]): Promise<void> {
  const url = `${config.platform.baseUrl}${batchPath}`
  for (let body = queue.shift(); body; body = queue.shift()) {
    const answer = await request(url, { method: 'POST', headers, body: body.text, dispatcher })
    await answer.body.dump()
    if (answer.statusCode >= 300) throw new Error(`the platform answers ${answer.statusCode}`)
  }
}
