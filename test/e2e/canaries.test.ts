import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startCollector } from '../helpers/collector.ts'
import { createPostgresDatabase } from '../helpers/servers/databases.ts'
import { alertSecret, startAlertReceiver } from '../helpers/sources/alert-receiver.ts'
import { startHrServer } from '../helpers/sources/hr-server.ts'
import { startMailServer } from '../helpers/sources/mail-server.ts'
import { openWorkplace } from '../helpers/workplace.ts'
import { type Host, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** Stands in every personal value, whatever becomes of it, and in every secret that the test may choose. */
const canary = /canary/i
const header = 'Worker ID,Work Email,First Name,Last Name,Job Title,Hire Date,Termination Date'

function people(
  edit: (at: number) => Partial<Record<'email' | 'title' | 'start' | 'left', string>> = () => ({}),
): string {
  const rows = Array.from({ length: 40 }, (_, at) => {
    const {
      email = `canary.${at}@acme.example`,
      title = 'Canary keeper',
      start = `2020-01-${10 + (at % 20)}`,
      left: leavingDate = '',
    } = edit(at)
    return `W${at},${email},Canary${at},O'Canary,${title},${start},${leavingDate}`
  })
  return `${[header, ...rows].join('\n')}\n`
}

test('no personal value and no secret is in logs, queue payloads, alerts, mails, traces, the audit trail or the output of commands', async () => {
  await using stack = new AsyncDisposableStack()
  const database = stack.use(await createPostgresDatabase())
  const pager = stack.use(await startAlertReceiver())
  const mail = stack.use(await startMailServer())
  const posted: string[] = []
  const chat = stack.use(
    await startHrServer((request, response) => {
      text(request).then((body) => posted.push(body))
      response.end('ok')
    }),
  )
  const collector = stack.use(await startCollector())
  const { key } = await host.tenant()
  const work = stack.use(
    await openWorkplace({
      baseUrl: host.platform.baseUrl,
      key,
      database: database.at,
      extra: `traces: { endpoint: '${collector.url}', headers: { authorization: '\${file:pager-secret}' } }
alerts:
  channels:
    pager: { type: webhook, url: '${pager.url}?token=canary', secret: '\${file:pager-secret}' }
    chat: { type: slack, url: '\${file:chat-address}', allowPrivate: true, insecure: true }
    mail: { type: smtp, host: 127.0.0.1, port: ${mail.port}, tls: none, from: rollcall@acme.example, to: [ops@acme.example] }
`,
    }),
  )
  await writeFile(join(work.folder, 'pager-secret'), alertSecret)
  await writeFile(join(work.folder, 'chat-address'), `${chat.url}/services/canary`)
  const daemon = work.start('serve', '--json')
  await daemon.waitForOutput('daemon.started')
  const outputs: string[] = []
  const ask = async (...args: string[]) => {
    const { stdout, stderr } = await work.run(...args)
    outputs.push(stdout, stderr)
    return stdout
  }

  await work.drop('people-1.csv', people())
  await ask('sync')
  await work.drop(
    'people-2.csv',
    people((at) => (at < 2 ? { left: 'canary day' } : at < 12 ? { left: '2026-11-19' } : {})),
  )
  await ask('sync')
  await work.drop(
    'people-3.csv',
    people((at) => ({ email: `canary at ${at}`, title: 'CANARY', start: 'canary' })),
  )
  await ask('sync')
  const { runs }: { runs: { id: string }[] } = JSON.parse(await ask('runs', '--json'))
  for (const { id } of runs) await ask('run', id)
  for (const command of [
    ['plan'],
    ['status'],
    ['problems'],
    ['person', 'W1'],
    ['sync', '--person', 'W20'],
    ['alerts'],
  ]) {
    await ask(...command)
    await ask(...command, '--json')
  }
  await ask('report', 'leavers', '--from', '2026-11-01', '--to', '2026-11-30', '--format', 'html')
  await ask('sync', '--person', 'canary.3@acme.example')
  await ask('alerts', 'test')
  await writeFile(join(work.folder, 'key'), 'a wrong canary')
  await ask('resync', '--full', '--wait', '1')
  await pager.has(1)
  await ask('audit', 'export')
  const tables = await everythingIn(database.at, ['bullmq'])
  const alerts = await everythingIn(
    database.at,
    ['rollcall'],
    ['alerts', 'notifications', 'alert_messages', 'deliveries', 'audit_pending'],
  )
  daemon.child.kill('SIGTERM')
  const { stdout, stderr } = await daemon.ended

  expect(mail.received.length).toBeGreaterThan(0)
  expect(posted.length).toBeGreaterThan(0)
  expect(collector.spans().map(({ name }) => name)).toContain('run')
  const outputsByName = {
    log: [stdout, stderr],
    'what commands say': outputs,
    queue: tables,
    'tables of alerts, deliveries and acts': alerts,
    pager: pager.received.map((one) => one.text),
    chat: posted,
    mail: mail.received.map(({ raw }) => raw),
    traces: collector.bodies,
  }
  for (const [name, texts] of Object.entries(outputsByName))
    expect({ name, found: linesWithSecrets(texts, key) }).toEqual({ name, found: [] })
  expect(stdout + stderr).toContain('run.held')
  // They were there to be found.
  expect((await everythingIn(database.at, ['rollcall'], ['roster'])).join()).toMatch(canary)
}, 120_000)

/** The lines in which a canary or the API key stands. */
function linesWithSecrets(texts: readonly string[], key: string): string[] {
  return texts.flatMap((one) => one.split('\n')).filter((line) => canary.test(line) || line.includes(key))
}

async function everythingIn(at: string, schemas: readonly string[], names?: readonly string[]): Promise<string[]> {
  const client = new pg.Client(at)
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname = any($1) and ($2::text[] is null or tablename = any($2))`,
      [schemas, names ?? null],
    )
    const contents: string[] = []
    for (const { name } of rows) {
      const { rows: lines } = await client.query<{ row: string }>(`select t::text as row from ${name} t`)
      contents.push(...lines.map(({ row }) => row))
    }
    return contents
  } finally {
    await client.end()
  }
}
