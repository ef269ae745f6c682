import Fastify from 'fastify'
import pg from 'pg'
import { WebhookSettings } from '../../src/connectors/webhook/settings.ts'
import { serveWebhooks } from '../../src/daemon/webhooks/webhooks.ts'
import { openDatabase } from '../../src/database/database.ts'
import { createApp } from '../../src/http/server/app.ts'
import { migrations } from '../../src/store/migrations/index.ts'
import type { StoreSchema } from '../../src/store/schema.ts'
import { silentEvents } from '../../src/telemetry/events.ts'
import { peakMiB } from './report.ts'

// Serves a webhook until its input ends: ours, or a bare route that inserts one row for each request. Prints its address, and at the
// end the measurements.
const poolSize = 16
const listenAt = { host: '127.0.0.1', port: 0 }
const [receiver = '', database = '', secret = ''] = process.argv.slice(2)

await using serving = receiver === 'rollcall' ? await serveOurs() : await serveBare()
process.stdout.write(`${JSON.stringify({ url: serving.url })}\n`)
for await (const _ of process.stdin);
const cpu = process.cpuUsage()
const cpuSeconds = (cpu.user + cpu.system) / 1e6
process.stdout.write(`${JSON.stringify({ rows: await serving.rows(), cpuSeconds, peakMiB: await peakMiB() })}\n`)

async function serveOurs() {
  const store = await openDatabase<StoreSchema>({ at: database, schemas: ['rollcall'], migrations, poolSize })
  const settings = WebhookSettings.parse({ recipe: 'standard-webhooks', secrets: [secret], inboxLimit: 10_000_000 })
  const feeds = new Map([['hr', { settings, secrets: async () => [secret] }]])
  const app = await createApp()
  const events = silentEvents()
  await serveWebhooks(app, { feeds, db: store.db, now: () => new Date(), events })
  return {
    url: `${await app.listen(listenAt)}/webhooks/hr`,
    rows: async () => Number((await store.pool.query('select count(*) from inbox')).rows[0].count),
    async [Symbol.asyncDispose]() {
      await app.close()
      await store[Symbol.asyncDispose]()
    },
  }
}

async function serveBare() {
  const pool = new pg.Pool({ connectionString: database, max: poolSize })
  await pool.query('create table bare (id bigint generated always as identity primary key, body jsonb not null)')
  const app = Fastify()
  app.post('/bare', async (request) => {
    const { rows } = await pool.query('insert into bare (body) values ($1) returning id', [
      JSON.stringify(request.body),
    ])
    return { received: rows[0].id }
  })
  return {
    url: `${await app.listen(listenAt)}/bare`,
    rows: async () => Number((await pool.query('select count(*) from bare')).rows[0].count),
    async [Symbol.asyncDispose]() {
      await app.close()
      await pool.end()
    },
  }
}
