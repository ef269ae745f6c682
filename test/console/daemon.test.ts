import { expect, test } from 'vitest'
import { connect } from '../helpers/connected.ts'
import { createVisitor } from '../helpers/console.ts'
import { serve } from '../helpers/served.ts'
import { openWorkplace } from '../helpers/workplace.ts'

test('a daemon serves the console at its address to those who sign in with a token, and to no one else', async () => {
  const baseUrl = 'http://127.0.0.1:9/public/v2'
  await using work = await openWorkplace({ baseUrl, key: 'key' }, { hasStore: true })
  const source = { type: 'csv', path: 'exports/*.csv', mode: 'snapshot', preset: 'generic' }
  await connect(work, { baseUrl, connections: { acme: { source } } })
  await using daemon = await serve(work)
  const { document } = await work.json<{ token: string }>('token', 'create', '--name', 'ana', '--role', 'viewer')
  const visitor = createVisitor(daemon.url, null)

  const before = await visitor.get('/runs')
  const form = await visitor.get(before.location ?? '')
  const [, token = ''] = /name="token" value="([^"]+)"/.exec(form.text) ?? []
  const signedIn = await visitor.post('/sign-in', { token, to: '/', access: document.token })
  const overview = await visitor.get(signedIn.location ?? '')
  const style = /<link rel="stylesheet" href="([^"]+)">/.exec(overview.text)?.[1] ?? ''
  const asset = await visitor.get(style)
  const lost = await visitor.get('/nothing')
  const [description, reference] = [await visitor.get('/api/openapi.json'), await visitor.get('/reference/')]
  const strangers = await createVisitor(daemon.url, null).get('/api/openapi.json')
  const posted = await visitor.post('/api/v1/settings/check', {})
  const read = await visitor.get('/api/v1/status')
  const { document: olga } = await work.json<{ token: string }>(
    'token',
    'create',
    '--name',
    'olga',
    '--role',
    'operator',
  )
  const asOlga = { authorization: `Bearer ${olga.token}` }
  const settings = await (await fetch(`${daemon.url}/api/v1/settings`, { headers: asOlga })).json()
  const checked = await fetch(`${daemon.url}/api/v1/settings/check`, { method: 'POST', headers: asOlga })
  const checks = (await checked.json()) as { ok: boolean; data: { name: string; level: string }[] }

  expect([before.status, before.location, signedIn.status]).toEqual([303, '/sign-in?to=%2Fruns', 303])
  expect(form.text).toContain('Sign in to Rollcall')
  expect(overview.text).toContain('acme <span class="target">→ HRIS acme</span>')
  expect(overview.text).toContain('<strong>ana</strong> <span class="role">viewer</span>')
  expect([asset.status, asset.headers.get('cache-control')]).toEqual([200, 'public, max-age=31536000, immutable'])
  expect(settings).toMatchObject({ file: expect.stringMatching(/rollcall\.yaml$/) })
  expect([description.status, reference.status, strangers.status]).toEqual([200, 200, 401])
  expect([posted.status, read.status]).toEqual([401, 401])
  expect(overview.text).toContain('<a href="/reference/">API</a>')
  expect(checks.ok).toBe(false)
  expect(checks.data.map(({ name, level }) => [name, level])).toEqual(
    expect.arrayContaining([
      ['database', 'ok'],
      ['queue', 'ok'],
      ['source of acme', 'failed'],
      ['platform for acme', 'failed'],
    ]),
  )
  expect([lost.status, lost.text.includes('<strong>ana</strong>')]).toEqual([404, true])
})
