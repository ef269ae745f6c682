import { afterAll, beforeAll, expect, test } from 'vitest'
import { createVisitor, openConsole } from '../helpers/console.ts'
import { later, receive, updated, webhookFeed } from '../helpers/events.ts'
import { change, type Host, openWorld, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

const untidy = [
  ...Array.from({ length: 25 }, (_, at) => ({ id: `E00${at + 10}`, leavingDate: '0000-00-00' })),
  { id: 'E0001', email: '<b>=DISABLED</b>' },
]

/** A company of fifty whose second night has untidy cells, and its console. */
async function open() {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const world = opening.use(await openWorld({ client }))
  const console = opening.use(await openConsole(world))
  await world.night(staff(50))
  await world.night(change(staff(50), ...untidy), { asOf: '2026-11-20T02:00:00.000Z' })
  const opened = opening.move()
  const visit = (who: string) => createVisitor(console.url, who)
  return { visit, world, console, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

test('the page groups what HR has to correct, cuts long groups, and shows names and cells to an operator who wants them', async () => {
  await using company = await open()
  const [olga, vera] = [company.visit('olga.operator'), company.visit('vera.viewer')]

  const problems = await olga.get('/problems')
  const keys = await olga.get('/problems/hr')
  const named = await olga.get('/problems/hr?values=1')
  const viewer = await vera.get('/problems/hr?values=1')
  const unknown = await olga.get('/problems/hr?connection=beta')

  expect(problems.text).toContain('href="/problems/hr"')
  expect(keys.text).toContain('25 cells in Leaving Date')
  expect(keys.text).toContain('25 may hide departures')
  expect(keys.text).toContain(
    'Leave the cell empty where there is no date; otherwise write the date as 2026-10-31 (yyyy-MM-dd).',
  )
  expect(keys.text).toContain('The first 20 are shown; the files have all of them.')
  for (const { text } of [keys, viewer]) expect(text).not.toMatch(/0000-00-00|Person 1|DISABLED/)
  expect(viewer.text).not.toContain('name="values"')
  expect(named.text).toContain('25 cells &quot;0000-00-00&quot; in Leaving Date')
  expect(named.text).toMatch(/Person 10 .*E0010/)
  expect(named.text).toContain('&lt;b&gt;=DISABLED&lt;/b&gt;')
  expect(unknown.status).toBe(404)
})

test('Problems leads to the page for HR also where events alone have faults, and blames HR for nothing', async () => {
  await using world = await openWorld({ client: (await host.tenant()).client, webhook: webhookFeed() })
  await using console = await openConsole(world)
  await world.night(staff(5))
  await receive(world, updated('E0004', 'Lead', '2026-11-20T02:10:00.000Z', { start: '2026-02-31' }))
  await later(world, 6)
  const olga = createVisitor(console.url, 'olga.operator')
  const [problems, forHr] = [await olga.get('/problems'), await olga.get('/problems/hr')]

  expect(problems.text).toContain('href="/problems/hr"')
  expect(problems.text).not.toContain('HR has to correct')
  expect(forHr.text).toContain('HR has to correct 1 field or event of 1 person.')
  expect(forHr.text).toContain('1 field in employee.start')
  expect(forHr.text).toMatch(/event 1, item 1/)
})

test('the files have every row, and names and cells for those alone who may see them', async () => {
  await using company = await open()
  const file = (who: string, path: string) =>
    fetch(`${company.console.url}/problems/hr/files/${path}`, { headers: { cookie: `visitor=${who}` } })

  const csv = await file('olga.operator', 'list.csv?values=1')
  const forViewer = await file('vera.viewer', 'list.csv?values=1')
  const xlsx = await file('vera.viewer', 'list.xlsx')
  const unknown = await file('olga.operator', 'list.exe')
  const [text, viewerText] = [await csv.text(), await forViewer.text()]

  expect(csv.headers.get('content-disposition')).toMatch(/^attachment; filename="hr-corrections-\d{4}-\d\d-\d\d\.csv"$/)
  expect(text.trimEnd().split('\r\n')).toHaveLength(1 + 26)
  expect(text).toContain('"Person 10","E0010","people.csv"')
  expect(viewerText.trimEnd().split('\r\n')).toHaveLength(1 + 26)
  expect(viewerText).not.toMatch(/0000-00-00|Person|DISABLED/)
  expect([xlsx.status, xlsx.headers.get('content-type')]).toEqual([
    200,
    'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  ])
  expect(unknown.status).toBe(404)
})

test('a look at values over the control API is recorded, and a list can be cut', async () => {
  await using company = await open()
  const { console, world } = company
  const list = await console.control.getHandOver({ query: { values: true, perGroup: 1 } })
  const acts = await world.sync.store.db.selectFrom('audit_pending').select('entry').execute()

  expect(list.groups.map(({ rows, entries }) => [rows.length, entries])).toEqual([
    [1, 25],
    [1, 1],
  ])
  expect(acts.some(({ entry }) => entry.includes('values.seen') && entry.includes('getHandOver'))).toBe(true)
})
