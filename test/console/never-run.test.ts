import { afterAll, beforeAll, expect, test } from 'vitest'
import { createVisitor, openConsole } from '../helpers/console.ts'
import { type Host, openWorld, startHost } from '../helpers/world.ts'

let host: Host

beforeAll(async () => {
  host = await startHost()
})
afterAll(async () => {
  await host[Symbol.asyncDispose]()
})

test('pages about a connection that never ran say what they are for, and how to get there', async () => {
  const { client } = await host.tenant()
  await using world = await openWorld({ client })
  await using console = await openConsole(world)
  const ana = createVisitor(console.url, 'ana.approver')
  const shown = new Map<string, string>()

  for (const path of [
    '/',
    '/runs',
    '/people',
    '/problems',
    '/sources',
    '/events',
    '/schedules',
    '/reports',
    '/audit',
    '/effective',
    '/connections/acme/statement',
    '/connections/acme/statement?at=2026-11-20',
  ]) {
    const { status, text } = await ana.get(path)
    expect([path, status]).toEqual([path, 200])
    shown.set(path, text.replaceAll(/<[^>]+>/g, ''))
  }

  expect(shown.get('/runs')).toContain('A run reads HR’s list, works out who joined, changed or left')
  expect(shown.get('/people')).toContain('No people yet. After the first run, this page lists everybody in HR’s list.')
  expect(shown.get('/problems')).toContain('Nothing of acme has been read yet, so nothing is known of the people.')
  expect(shown.get('/sources')).toContain('This page shows the result of each export')
  expect(shown.get('/events')).toContain('No connection has a webhook. With one, HR’s system reports each change')
  expect(shown.get('/schedules')).toContain('How to read HR every night')
  expect(shown.get('/reports')).toContain('Nobody’s last day is in this period.')
  for (const path of ['/connections/acme/statement', '/connections/acme/statement?at=2026-11-20'])
    expect(shown.get(path)).toContain('The first one is made after the next run. No run is scheduled')
  expect((await ana.get('/connections/nobody/statement')).status).toBe(404)
})
