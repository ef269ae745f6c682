import { afterAll, beforeAll, expect, test } from 'vitest'
import { addPause } from '../../src/store/connections/pauses.ts'
import { ensureConnection } from '../../src/store/runs/runs.ts'
import { createVisitor, openConsole } from '../helpers/console.ts'
import { type Host, openWorld, staff, startHost } from '../helpers/world.ts'

let host: Host
beforeAll(async () => {
  host = await startHost()
})
afterAll(() => host[Symbol.asyncDispose]())

/** More connections than a page of the overview has. */
const offices = Array.from({ length: 119 }, (_, at) => `Büro ${at}`)

/** One connection that was read, and many that were not. */
async function open() {
  await using opening = new AsyncDisposableStack()
  const { client } = await host.tenant()
  const world = opening.use(await openWorld({ client }))
  await world.night(staff(8))
  const { connections } = world.sync
  const acme = connections.get('acme')
  if (!acme) throw new Error('the world has no connection')
  const many = new Map([...connections, ...offices.map((name) => [name, { ...acme, name }] as const)])
  const console = opening.use(await openConsole({ ...world, sync: { ...world.sync, connections: many } }))
  const opened = opening.move()
  return { world, console, [Symbol.asyncDispose]: () => opened.disposeAsync() }
}

test('the status comes page by page, and is narrowed by state and by part of a name', async () => {
  await using company = await open()
  const { control } = company.console

  const pages: string[][] = []
  let after: string | null = null
  do {
    const page: Awaited<ReturnType<typeof control.status>> = await control.status({
      query: { limit: 50, ...(after && { after }) },
    })
    pages.push(page.connections.map(({ name }) => name))
    expect(page.states).toEqual({ inSync: 1, new: 119 })
    expect(page.totals).toMatchObject({ employed: 8, problems: 0, inDoubt: [] })
    after = page.next
  } while (after)
  const synced = await control.status({ query: { state: 'inSync' } })
  const searched = await control.status({ query: { search: 'buero 11', limit: 3 } })
  const only = await control.status({ query: { connection: 'Büro 7' } })

  expect(pages.map(({ length }) => length)).toEqual([50, 50, 20])
  expect(pages.flat()).toEqual(['acme', ...offices])
  expect(synced.connections).toMatchObject([{ name: 'acme', state: 'inSync', last: { state: 'finished' } }])
  expect(searched.connections.map(({ name }) => name)).toEqual(['Büro 11', 'Büro 110', 'Büro 111'])
  expect(searched).toMatchObject({ states: { new: 10 }, next: expect.any(String) })
  expect(only.connections).toMatchObject([{ name: 'Büro 7', state: 'new', last: null }])
  await expect(control.status({ query: { connection: 'Büro 700' } })).rejects.toThrow('there is no connection')
  await expect(control.status({ query: { state: 'new', after: searched.next ?? '' } })).rejects.toThrow()
})

test('a page continues behind a connection that has left the chosen state since', async () => {
  await using company = await open()
  const { control } = company.console
  const { world } = company
  const first = await control.status({ query: { state: 'new', limit: 1 } })
  await ensureConnection(world.sync.store.db, 'Büro 0')
  const pause = { connection: 'Büro 0', reason: 'HR moves', until: null, by: 'ana', now: world.sync.now() }
  await addPause(world.sync.store.db, pause)

  const second = await control.status({ query: { state: 'new', limit: 1, after: first.next ?? '' } })

  expect([first, second].map(({ connections }) => connections[0]?.name)).toEqual(['Büro 0', 'Büro 1'])
  expect(second.states).toEqual({ inSync: 1, paused: 1, new: 118 })
})

test('the overview lists many connections in pages, and each has a page with its charts', async () => {
  await using company = await open()
  const vera = createVisitor(company.console.url, 'vera.viewer')

  const first = await vera.get('/')
  const next = /href="([^"]+)">Next page/.exec(first.text)?.[1]?.replaceAll('&amp;', '&')
  const second = await vera.get(next ?? '')
  const searched = await vera.get('/?search=buero+118')
  const state = await vera.get('/?state=inSync')
  const part = await vera.get('/overview?state=inSync')
  const own = await vera.get('/connections/acme')
  const unknown = await vera.get('/connections/nobody')

  const rows = ({ text }: { text: string }) => [...text.matchAll(/class="row-name"><a href="\/connections\//g)].length
  expect([first, second, searched, state, part].map(rows)).toEqual([50, 50, 1, 1, 1])
  expect(first.text).toContain('8 people employed in 120 connections')
  expect(first.text).toMatch(/<span>New<\/span> <b>119<\/b>/)
  expect(first.text).not.toContain('<svg')
  expect(first.text.length).toBeLessThan(100_000)
  expect(own.text).toContain('<svg')
  expect(own.text).toContain('hx-get="/connections/acme/state"')
  expect([own.status, unknown.status]).toEqual([200, 404])
})
