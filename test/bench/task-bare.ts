import { Agent, request } from 'undici'
import { openPlatform } from '../../src/daemon/assembly.ts'
import { loadConfig } from '../../src/daemon/config/config.ts'
import { openStore } from '../../src/daemon/installation/open-store.ts'
import { report } from './tasks.ts'

// The same batches as the delivery makes of the planned run, posted by a loop that keeps nothing and looks at the status only.
const workers = 4

const config = await loadConfig(process.argv[2] ?? '', process.env)
const bodies = await plannedBodies()
const headers = { authorization: `Bearer ${await config.platform.apiKey.read()}`, 'content-type': 'application/json' }
const dispatcher = new Agent()
const target = await newConnection(`Bare ${process.pid}`)

await report(async () => {
  const queue = [...bodies]
  await Promise.all(Array.from({ length: workers }, () => post(target, queue)))
  return bodies.reduce((people, { length }) => people + length, 0)
})
await dispatcher.close()

type Body = { readonly text: string; readonly length: number }

async function plannedBodies(): Promise<Body[]> {
  await using store = await openStore(config)
  const { rows } = await store.pool.query<{ batch: number; records: object[] }>(
    `select batch, json_agg(record order by identity_id) as records from changes where state = 'due' group by batch order by batch`,
  )
  return rows.map(({ records }) => ({ text: JSON.stringify(records), length: records.length }))
}

async function newConnection(name: string): Promise<number> {
  await using platform = openPlatform(config, null)
  const answer = await platform.client.createCustomConnection({ body: { name, providerTypes: ['HRIS'] } })
  if (answer.status !== 201) throw new Error(`the platform answers ${answer.status}`)
  return answer.body.id
}

/** Sends what is left in the queue, one batch after the other. */
async function post(connectionId: number, queue: Body[]): Promise<void> {
  const url = `${config.platform.baseUrl}/custom-connections/${connectionId}/hris-user-identities`
  for (let body = queue.shift(); body; body = queue.shift()) {
    const answer = await request(url, { method: 'POST', headers, body: body.text, dispatcher })
    await answer.body.dump()
    if (answer.statusCode >= 300) throw new Error(`the platform answers ${answer.statusCode}`)
  }
}
