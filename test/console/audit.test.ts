import { type KyselyPlugin, sql } from 'kysely'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { auditFiles } from '../../src/console/pages/audit-files.ts'
import type { Site } from '../../src/console/site/site.ts'
import { scanInTurn } from '../../src/daemon/control/scan-turns.ts'
import { entryText, recordAuditEntries } from '../../src/store/audit/trail.ts'
import { ensureConnection } from '../../src/store/runs/runs.ts'
import { createVisitor, openConsole } from '../helpers/console.ts'
import { type Host, openWorld, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** A trail of 60 days with an entry each, whose reasons are a spreadsheet's formulas, and one entry about two people. */
async function open(options: Parameters<typeof openConsole>[1] = {}) {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const world = opening.use(await openWorld({ client }))
  const console = opening.use(await openConsole(world, options))
  const { db } = world.sync.store
  const reasoned = Array.from({ length: 60 }, (_, day) => ({
    act: 'run.rejected' as const,
    connection: 'acme',
    by: day % 2 === 0 ? '=Ada' : 'Bob, "the" by',
    details: { reason: '@SUM(A1)' },
    now: new Date(Date.UTC(2026, 8, 1 + day, 23, 30)),
  }))
  const people = { people: ['E0001', 'E0002'] }
  const now = new Date('2026-11-01T00:00:00Z')
  await recordAuditEntries(db, [
    ...reasoned,
    { act: 'batch.delivered', connection: 'acme', by: 'rollcall', details: people, now },
  ])
  await sql`insert into audit_trail select row_number() over (order by id), entry, '' from audit_pending`.execute(db)
  const opened = opening.move()
  const visit = (who: string) => createVisitor(console.url, who)
  const file = async (path: string) => {
    const response = await fetch(`${console.url}${path}`, { headers: { cookie: 'visitor=vera.viewer' } })
    return { response, text: await response.text() }
  }
  return { visit, file, console, world, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

const rowsIn = (text: string) => text.match(/<th role="rowheader"/g)?.length ?? 0

test('the page offers acts, people and connections, and the days of its filter hold their ends', async () => {
  await using company = await open()
  const vera = company.visit('vera.viewer')

  const all = await vera.get('/audit')
  const days = await vera.get('/audit?from=2026-09-03&to=2026-09-05')
  const ofBob = await vera.get(`/audit?from=2026-09-03&to=2026-09-05&act=run&by=${encodeURIComponent('Bob, "the" by')}`)
  const about = await vera.get('/audit?person=E0002')
  const nothing = await vera.get('/audit?from=2026-12-01&act=own.act')
  const inKolkata = await vera.get('/audit?from=2026-09-03&to=2026-09-05&zone=Asia/Kolkata')
  const untilEver = await vera.get('/audit?to=9999-12-31&zone=America/New_York')
  const wrong = await vera.get('/audit?from=2026-02-30')
  const wrongZone = await vera.get('/audit?from=2026-02-03&zone=Mars/Base')

  for (const option of ['run', 'run.rejected', '=Ada', 'Bob, &quot;the&quot; by', 'acme'])
    expect(all.text).toContain(`<option value="${option}">`)
  expect([all, days, ofBob, about].map(({ text }) => rowsIn(text))).toEqual([50, 3, 1, 1])
  expect(days.text).toContain('5 Sept 2026')
  expect(ofBob.text).toMatch(/Run rejected <span class="hint">[^<]+ · <code>run.rejected<\/code>/)
  expect(rowsIn(untilEver.text)).toBe(50)
  expect(about.text).toContain('href="/person?connection=acme&amp;key=E0002"')
  expect(inKolkata.text).not.toContain('5 Sept 2026')
  expect(rowsIn(inKolkata.text)).toBe(3)
  expect(inKolkata.text).toContain('Days begin at midnight in <span>Asia/Kolkata</span>')
  expect([wrongZone.status, wrongZone.text.includes('is not a time zone; write one such as Europe/Berlin')]).toEqual([
    400,
    true,
  ])
  expect(days.text).toContain('href="/audit/entries.csv?from=2026-09-03&amp;to=2026-09-05"')
  expect(nothing.text).toContain('No entry matches.')
  expect(nothing.text).toContain('<option value="own.act" selected>Own act</option>')
  expect(nothing.text).toContain(
    '<option value="run">Run: all</option><option value="run.requested">Run requested</option>',
  )
  expect([wrong.status, wrong.text.includes('is not a day; write one such as 2026-01-31')]).toEqual([400, true])
})

test('the files have what the filter shows, and no cell that a spreadsheet would run', async () => {
  await using company = await open()

  const csv = await company.file('/audit/entries.csv?from=2026-09-03&to=2026-09-04')
  const json = await company.file('/audit/entries.json?by=rollcall')
  const none = await company.file('/audit/entries.json?by=nobody')
  const wrong = await company.file('/audit/entries.csv?to=soon')

  expect(csv.response.headers.get('content-disposition')).toMatch(/^attachment; filename="audit-[\d-]{10}\.csv"$/)
  const [header, ...lines] = csv.text.trimEnd().split('\r\n')
  expect(header).toBe('"entry","at","act","by","connection","run","person","details"')
  expect(lines).toEqual([
    '4,"2026-09-04T23:30:00.000Z","run.rejected","Bob, ""the"" by","acme",,,"{""reason"":""@SUM(A1)""}"',
    '3,"2026-09-03T23:30:00.000Z","run.rejected","\'=Ada","acme",,,"{""reason"":""@SUM(A1)""}"',
  ])
  expect(JSON.parse(json.text)).toMatchObject({
    entries: [{ act: 'batch.delivered', details: { people: ['E0001', 'E0002'] } }],
    isComplete: true,
  })
  expect(JSON.parse(none.text)).toEqual({ entries: [], isComplete: true })
  expect(wrong.response.status).toBe(400)
})

test('a file that cannot hold every match says so', async () => {
  await using company = await open()
  const cut = await contents(company, 4)
  const whole = await contents(company, 61)

  expect(cut.csv.trimEnd().split('\r\n')).toHaveLength(1 + 4 + 1)
  expect(cut.csv).toMatch(/^\ufeff"entry",/)
  expect(cut.csv).toContain('older entries match too and are not in this file')
  expect(JSON.parse(cut.json)).toMatchObject({ entries: { length: 4 }, isComplete: false })
  expect(whole.csv.trimEnd().split('\r\n')).toHaveLength(1 + 61)
  expect(JSON.parse(whole.json)).toMatchObject({ entries: { length: 61 }, isComplete: true })
})

/** The unfiltered files with another bound. */
async function contents({ console }: Awaited<ReturnType<typeof open>>, maxEntries: number) {
  const texts: Record<string, string> = {}
  const shows: Promise<void>[] = []
  const context = { control: console.control, now: new Date() } as unknown as Parameters<Parameters<Site['file']>[1]>[0]
  const site = {
    file(path: string, show: Parameters<Site['file']>[1]) {
      const take = async () => {
        const download = await show(context, () => '')
        if (download === null) return
        let text = ''
        for await (const piece of download.content as AsyncIterable<string>) text += piece
        texts[path.slice(path.lastIndexOf('.') + 1)] = text
      }
      shows.push(take())
    },
  } as unknown as Site
  auditFiles(site, maxEntries)
  await Promise.all(shows)
  return { csv: texts.csv ?? '', json: texts.json ?? '' }
}

test('searches and filters of a visitor wait for each other, and other pages do not', async () => {
  await using company = await open()
  const vera = company.visit('vera.viewer')
  const turn = Promise.withResolvers<void>()
  const before = scanInTurn({ sync: company.world.sync, caller: { principal: 'token:vera' } }, () => turn.promise)
  const answered: string[] = []
  const pages = ['/audit?act=run', '/people?q=E0'].map(async (path) => {
    await vera.get(path)
    answered.push(path)
  })

  await vera.get('/audit')
  await company.visit('olga.viewer').get('/people?q=E0')
  const meanwhile = [...answered]
  turn.resolve()
  await Promise.all([before, ...pages])

  expect(meanwhile).toEqual([])
  expect(answered.toSorted()).toEqual(['/audit?act=run', '/people?q=E0'])
})

test('the filter for a person finds them by each of their keys, and the answers about these', async () => {
  await using company = await open()
  const { db } = company.world.sync.store
  await ensureConnection(db, 'acme')
  await sql`insert into key_answers values ('acme', 'E0003', 'N-77', true, 'ada', now())`.execute(db)
  const now = new Date('2026-11-02T00:00:00Z')
  const about = { connection: 'acme', by: 'ada', now }
  const entries = [
    { ...about, act: 'keys.answered' as const, details: { same: true, former: ['E0003'], keys: ['N-77'] } },
    { ...about, act: 'keys.withdrawn' as const, details: { same: true, former: 'E0003', key: 'N-77' } },
    { ...about, act: 'person.forgotten' as const, identityId: 'E0003' },
  ]
  for (const [n, entry] of entries.entries())
    await sql`insert into audit_trail values (${100 + n}, ${entryText(entry)}, '')`.execute(db)
  await sql`
    insert into audit_checkpoints (ordinal, previous, hash, at, key, signature) values (102, 0, '', now(), '', '')`.execute(
    db,
  )
  const vera = company.visit('vera.viewer')

  const byFirst = await vera.get('/audit?person=E0003')
  const byLater = await vera.get('/audit?person=N-77&connection=acme')
  const elsewhere = await vera.get('/audit?person=N-77&connection=globex')
  const exported = await company.console.control.exportAudit({ query: { after: 0, identityId: 'N-77' } })

  expect([byFirst, byLater, elsewhere].map(({ text }) => rowsIn(text))).toEqual([3, 3, 0])
  expect(byFirst.text).toContain('Former: <a class="key" href="/person?connection=acme&amp;key=E0003"')
  expect(byFirst.text).toContain('Key: <a class="key" href="/person?connection=acme&amp;key=N-77"')
  expect(exported.data.filter((line) => line.startsWith('{"kind":"entry"'))).toHaveLength(3)
})

test('the page is shown with an entry that was changed by hand, and offers who acts from now on', async () => {
  await using company = await open()
  const { db } = company.world.sync.store
  const vera = company.visit('vera.viewer')
  const before = await vera.get('/audit')
  const entry = entryText({ act: 'run.approved', connection: 'acme', by: 'Eve', now: new Date('2026-11-02T00:00:00Z') })
  await sql`insert into audit_trail values (100, ${entry.replace('"Eve"', String.raw`"\q"`)}, ''), (101, ${entry}, '')`.execute(
    db,
  )

  const after = await vera.get('/audit')

  expect([before.status, after.status]).toEqual([200, 200])
  expect([before, after].map(({ text }) => text.includes('<option value="Eve">'))).toEqual([false, true])
})

test('the page and the files say that entries are not signed, and so not listed', async () => {
  await using company = await open({ auditTrouble: 'the key that signed the audit trail is not here' })

  const page = await company.visit('vera.viewer').get('/audit')
  const csv = await company.file('/audit/entries.csv')
  const json = await company.file('/audit/entries.json')

  expect(page.text).toContain('61 newer entries are not signed and not listed: The key that signed')
  expect(csv.text.split('\r\n')[1]).toBe(',,"61 newer entries are not signed and not in this file"')
  expect(JSON.parse(json.text)).toMatchObject({
    entries: { length: 61 },
    isComplete: false,
    unsigned: { entries: 61, reason: 'the key that signed the audit trail is not here' },
  })
})

test('a file has the controls of a typed reason as escapes', async () => {
  await using company = await open()
  const entry = { act: 'run.rejected' as const, connection: 'acme', by: 'ada', now: new Date('2026-11-02T00:00:00Z') }
  await sql`
    insert into audit_trail values (100, ${entryText({ ...entry, details: { reason: 'a\u202eb' } })}, '')`.execute(
    company.world.sync.store.db,
  )

  const { text } = await company.file('/audit/entries.json?by=ada')

  expect(text).toContain(String.raw`a\u202eb`)
  expect(JSON.parse(text).entries[0].details.reason).toBe('a\u202eb')
})

test('a file that breaks off is reported', async () => {
  const reported: string[] = []
  await using company = await open({ unexpected: (_error, route) => reported.push(route) })
  const { db } = company.world.sync.store
  const entry = entryText({ act: 'run.approved', connection: 'acme', by: 'ada', now: new Date('2026-11-02T00:00:00Z') })
  // More than one reading has.
  await sql`
    insert into audit_trail select 1000 + n, replace(${entry}, '"act"', '"n":' || n || ',"act"'), '' from generate_series(1, 1000) n`.execute(
    db,
  )
  let readings = 0
  const { store } = company.world.sync
  const failing: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      if (result.rows[0] && 'ordinal' in result.rows[0] && ++readings > 1) throw new Error('the store is away')
      return result
    },
  }
  Object.assign(company.world.sync, { store: { ...store, db: db.withPlugin(failing) } })

  await expect(company.file('/audit/entries.csv?act=run')).rejects.toThrow()

  expect(reported).toEqual(['/audit/entries.csv'])
})
