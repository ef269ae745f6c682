import { sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditKey, newKeyPem, Signing } from '../../src/store/audit/key.ts'
import { createVisitor, openConsole, quietlyConfigured } from '../helpers/console.ts'
import { receive, webhookFeed } from '../helpers/events.ts'
import { change, type Host, headers, openWorld, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const nightly = { cron: '0 2 * * *', timeZone: 'Europe/Berlin' }

/** A company that is read every night and sends events too, after a night whose export has a column that no field takes. */
async function open() {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const world = opening.use(
    await openWorld({ client, webhook: webhookFeed(), signing: new Signing(auditKey(newKeyPem(), 'a test')) }),
  )
  const console = opening.use(
    await openConsole(world, { schedules: [{ connection: 'acme', purpose: 'read', schedule: nightly }] }),
  )
  world.source.headers = [...headers, 'Salary <b>']
  const run = await world.night(staff(8))
  const opened = opening.move()
  const visit = (who: string) => createVisitor(console.url, who)
  return { world, run, visit, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

test('the pages of sources show the result of an export and its unreadable rows', async () => {
  await using company = await open()
  const vera = company.visit('vera.viewer')

  const list = await vera.get('/sources?connection=acme')
  const detail = await vera.get(`/sources/${company.run.id}`)
  const unknown = await vera.get('/sources/0198c5d1-1a2b-7c3d-8e4f-5a6b7c8d9e0f')

  expect(list.text).toMatch(new RegExp(`href="/sources/${company.run.id}">[^<]+</a>[\\s\\S]*Accepted`))
  expect(detail.text).toContain('Its plan was accepted.')
  expect(detail.text).toMatch(/Columns that are not read<\/h3>\s*<ul class="list"><li>Salary &lt;b&gt;<\/li><\/ul>/)
  expect(detail.text).toContain('Worker ID')
  expect(unknown.status).toBe(404)
})

test('an operator pauses a connection with a reason and ends the pause; a viewer sees who may do so', async () => {
  await using company = await open()
  const [olga, vera] = [company.visit('olga.operator'), company.visit('vera.viewer')]
  const token = 'token of olga'

  const before = await vera.get('/schedules')
  const refused = await vera.get('/schedules/acme/pause')
  const wrong = await olga.post('/schedules/acme/pause', { token, reason: 'HR moves', until: 'soon' })
  const paused = await olga.post('/schedules/acme/pause', { token, reason: 'HR moves', until: '2026-12-24' })
  const during = await olga.get(paused.location ?? '')
  const ended = await olga.post('/schedules/acme/pause/end', { token })
  const after = await olga.get(ended.location ?? '')

  expect(before.text.match(/<ol class="list">.*?<\/ol>/s)?.[0].match(/<li>/g)).toHaveLength(10)
  expect(before.text).toContain('only an operator can do this')
  expect(refused.status).toBe(403)
  expect([wrong.status, wrong.text.includes('role="alert"')]).toEqual([400, true])
  expect(wrong.text).toContain('value="HR moves"')
  expect(during.text).toMatch(/olga paused it .*HR moves/s)
  expect(after.text).toContain('The pause of acme has ended.')
  expect(after.text).not.toContain('paused it')
})

test('the overview says that a connection is paused, and leads to the end of the pause', async () => {
  await using company = await open()
  const { world, visit } = company
  await visit('olga.operator').post('/schedules/acme/pause', { token: 'token of olga', reason: 'HR moves' })
  world.clock.now = new Date('2026-12-20T03:00:00.000Z')

  const [olgas, veras] = [await visit('olga.operator').get('/'), await visit('vera.viewer').get('/')]

  expect(olgas.text).toContain('href="/schedules/acme/pause/end" aria-label="End the pause of acme">End the pause</a>')
  expect(veras.text).toContain('<b>End the pause</b>: only an operator can do this')
})

test('events that could not be read say why, and are read again or dismissed', async () => {
  await using company = await open()
  const { world } = company
  await receive(world, '{"first": 1}', '{"second": 2}')
  await sql`update inbox set state = 'rejected', reason = 'no <key> in it'`.execute(world.sync.store.db)
  const ana = company.visit('ana.approver')
  const token = 'token of ana'
  const rejected = async () =>
    ((await ana.get('/events?state=rejected')).text.match(/no &lt;key&gt; in it/g) ?? []).length
  const ids = (await world.sync.store.db.selectFrom('inbox').select('id').orderBy('id').execute()).map(({ id }) =>
    String(id),
  )

  const page = await ana.get('/events')
  const question = await ana.get(`/events/dismissal?connection=acme&id=${ids[0]}`)
  const [before, dismissed] = [
    await rejected(),
    await ana.post('/events/dismissal', { token, connection: 'acme', id: ids[0] ?? '' }),
  ]
  const resultPage = await ana.get(dismissed.location ?? '')
  const remaining = await rejected()
  const retried = await ana.post('/events/retry', { token, connection: 'acme' })

  expect(page.text).toContain('2 events could not be read')
  expect(question.text).toContain('You cannot undo this.')
  expect([before, remaining]).toEqual([2, 1])
  expect(resultPage.text).toContain('The event was dismissed.')
  expect((await ana.get(retried.location ?? '')).text).toContain('1 event will be read again by the next run.')
  expect(await rejected()).toBe(0)
})

test('the address of its page filters the audit trail, which has several pages', async () => {
  await using company = await open()
  const { world } = company
  await sql`insert into audit_trail select row_number() over (order by id), entry, '' from audit_pending`.execute(
    world.sync.store.db,
  )
  const vera = company.visit('vera.viewer')

  const all = await vera.get('/audit')
  const planned = await vera.get('/audit?act=run.planned&connection=acme')
  const none = await vera.get('/audit?by=nobody')
  const tampered = await vera.get('/audit?after=bm8gY3Vyc29y')

  expect(all.text).toContain('<code>run.finished</code>')
  expect(planned.text).toContain('<code>run.planned</code>')
  expect(planned.text).not.toContain('<code>run.finished</code>')
  expect(none.text).toContain('No entry matches.')
  expect(tampered.status).toBe(400)
  expect(tampered.text).toContain('this value belongs to another list')
})

test('the report on leavers is shown to a viewer by key, and kept as files with names by an operator alone', async () => {
  await using company = await open()
  const { world } = company
  await world.night(change(staff(8), { id: 'E0003', leavingDate: '2026-11-19' }), { asOf: '2026-11-20T02:00:00.000Z' })
  const [vera, olga] = [company.visit('vera.viewer'), company.visit('olga.operator')]

  const page = await vera.get('/reports?from=2026-11-01&to=2026-11-30&values=1')
  const shown = await olga.get('/reports?from=2026-11-01&to=2026-11-30&values=1')
  const wrong = await vera.get('/reports?from=soon')
  const [csv, unknown] = [await olga.get('/reports/files/report.csv?values=1'), await olga.get('/reports/files/other')]
  const pack = await olga.get('/reports/files/leavers.zip')

  expect(page.text).toContain('E0003')
  expect(page.text).not.toContain('Person 3')
  expect(shown.text).toContain('Person 3')
  expect(wrong.status).toBe(400)
  expect(csv.headers.get('content-disposition')).toBe('attachment; filename="report.csv"')
  expect(csv.text).toMatch(/E0003.*e3@acme\.example|e3@acme\.example.*E0003/)
  expect(pack.text.slice(0, 2)).toBe('PK')
  expect(unknown.status).toBe(404)
})

test('the page of settings names the origin of each; a check names what fails, and a viewer sees who may run it', async () => {
  await using company = await open()
  const [olga, vera] = [company.visit('olga.operator'), company.visit('vera.viewer')]
  const token = 'token of olga'

  const page = await olga.get('/settings')
  const viewers = await vera.get('/settings')
  const foreign = await olga.post('/settings/check', { token: 'another' })
  const checked = await olga.post('/settings/check', { token })
  const viewersCheck = await vera.post('/settings/check', { token: 'token of vera' })
  const loaded = await olga.get('/settings/check')

  expect(page.text).toContain('the environment variable <code>PLATFORM</code>')
  expect(page.text).toContain('the file <code>/run/secrets/key</code> <span class="hint">named in line 2</span>')
  expect(page.text).toContain('secret, not shown')
  expect(page.text).toContain('Connection acme')
  expect(page.text).toMatch(/Work &lt;Email&gt;[\s\S]*the preset <code>workday<\/code>/)
  expect(page.text).toContain('>line 9</td>')
  expect(viewers.text).toContain('only an operator can do this')
  expect(viewers.text).not.toContain('PLATFORM')
  expect([foreign.status, viewersCheck.status, loaded.location]).toEqual([403, 403, '/settings'])
  expect(checked.text).toContain('A run would fail.')
  expect(checked.text).toMatch(/platform for acme[\s\S]*Failed[\s\S]*it does not answer/)
  expect(checked.text).toContain('no &lt;key&gt;')
})

test('a check that takes too long ends, and says that not everything was tested', async () => {
  await using world = await openWorld({ client: (await host.tenant()).client })
  const configured = {
    ...quietlyConfigured,
    async *check(signal: AbortSignal) {
      yield { name: 'database', message: 'PostgreSQL', code: null, level: 'ok' as const }
      await new Promise((_done, fail) => signal.addEventListener('abort', () => fail(signal.reason)))
    },
  }
  await using console = await openConsole(world, { configured, checkWithinMs: 20 })

  const { ok, data } = await console.control.checkConfiguration({})

  expect(ok).toBe(true)
  expect(data.map(({ name, level }) => [name, level])).toEqual([
    ['database', 'ok'],
    ['time', 'warning'],
  ])
})
