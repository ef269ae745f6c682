import { readFile, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { noticeIn, openEmptyDaemon, tokenIn } from '../helpers/first-visit.ts'
import { type Host, startHost } from '../helpers/world.ts'

const settings = { name: 'Acme HR', timeZone: 'Europe/Berlin' }

let host: Host
let tenant: Awaited<ReturnType<Host['tenant']>>
beforeAll(async () => {
  host = await startHost()
  tenant = await host.tenant()
})
afterAll(() => host[Symbol.asyncDispose]())

const openDaemon = () => openEmptyDaemon({ baseUrl: host.platform.baseUrl })

/** The tokens of a daemon that a sender may have, by their state. */
async function senderTokens({ api }: Awaited<ReturnType<typeof openDaemon>>) {
  const { data } = (await (await api('/tokens')).json()) as { data: { role: string; name: string; state: string }[] }
  return data.flatMap(({ role, name, state }) => (role === 'scim' ? [`${name}: ${state}`] : []))
}

describe('an admin at the console', () => {
  test('connects an identity system, and sees its token once', async () => {
    await using empty = await openDaemon()
    const visitor = await empty.visitor()
    const start = await visitor.get('/connect')
    const ask = await visitor.get(`/connect/scim?${new URLSearchParams(settings)}`)
    const [, digest = ''] = /name="digest" value="([^"]+)"/.exec(ask.text) ?? []
    const untouched = await empty.config()

    const form = { ...settings, token: tokenIn(ask.text), digest }
    const refused = await visitor.post('/connect/scim', { ...form, apiKey: 'no key at all' })
    const untouchedAfterRefusal = await empty.config()
    const done = await visitor.post('/connect/scim', { ...form, apiKey: tenant.key })
    const again = await visitor.post('/connect/scim', { ...form, apiKey: tenant.key })

    expect(start.text).toContain('Let an identity system push by SCIM')
    expect(ask.text).toMatch(/type: scim[\s\S]*timeZone: Europe\/Berlin/)
    expect(ask.text).toContain('push over https only')
    expect([untouched, untouchedAfterRefusal]).toEqual([empty.text, empty.text])
    expect(refused.status).toBeGreaterThanOrEqual(400)
    expect(noticeIn(refused.text)).not.toBe('')
    expect(done.status).toBe(200)
    const [token = ''] = /rct_[0-9a-f]{72}/.exec(done.text) ?? []
    expect(token).not.toBe('')
    for (const part of ['/scim/v2/acme-hr', 'Okta', 'Microsoft Entra', 'href="/connect/done"'])
      expect(done.text).toContain(part)
    expect(again.status).toBe(409)
    expect(again.text).not.toContain('rct_')
    const text = await empty.config()
    expect(text.startsWith(empty.text)).toBe(true)
    expect(text).not.toContain(token)
    expect(parse(text).connections['acme-hr']).toMatchObject({
      target: { name: 'Acme HR' },
      source: { type: 'scim', timeZone: 'Europe/Berlin' },
    })
    expect((await loadConfig(empty.file, {})).connections.get('acme-hr')?.pushed?.settings.type).toBe('scim')
    expect(await readFile(join(empty.folder, 'platform.key'), 'utf8')).toBe(`${tenant.key}\n`)
    expect(empty.reloadRequests).toEqual(['reload'])
    expect(await senderTokens(empty)).toEqual(['SCIM of acme-hr: active'])
    expect(JSON.stringify(empty.events)).not.toContain(token)
  })
})

describe('the control API', () => {
  test('leaves nothing behind where the preview is outdated, the key is wrong, or the settings are', async () => {
    await using empty = await openDaemon()
    const { body } = await empty.post('/first-visit/scim/plan', settings)
    const connect = async (more: object) =>
      (await empty.post('/first-visit/scim/connection', { ...settings, digest: body.digest, ...more })).status

    const statuses = [
      await connect({ digest: 'sha256:other', apiKey: tenant.key }),
      await connect({}),
      await connect({ apiKey: tenant.key, name: '${env:HOME}' }),
      (await empty.post('/first-visit/scim/plan', { ...settings, timeZone: 'Mars/Olympus' })).status,
    ]

    expect(statuses).toEqual([409, 422, 400, 400])
    expect(await empty.config()).toBe(empty.text)
    expect(await senderTokens(empty)).toEqual([])
    await expect(stat(join(empty.folder, 'platform.key'))).rejects.toThrow('ENOENT')
  })

  test('revokes the token and removes the key where the configuration could not be used', async () => {
    await using empty = await openDaemon()
    const { body } = await empty.post('/first-visit/scim/plan', settings)
    await rm(join(empty.folder, 'token'))

    const confirmed = { ...settings, digest: body.digest, apiKey: tenant.key }
    const failed = await empty.post('/first-visit/scim/connection', confirmed)

    expect(failed.status).toBe(422)
    expect(await senderTokens(empty)).toEqual(['SCIM of acme-hr: revoked'])
    expect(await empty.config()).toBe(empty.text)
    await expect(stat(join(empty.folder, 'platform.key'))).rejects.toThrow('ENOENT')
    expect(empty.reloadRequests).toEqual([])
  })

  test('names a token that has the name already, and removes the key', async () => {
    await using empty = await openDaemon()
    const { body } = await empty.post('/first-visit/scim/plan', settings)
    await empty.post('/tokens', { name: 'SCIM of acme-hr', role: 'viewer' })

    const taken = await empty.post('/first-visit/scim/connection', {
      ...settings,
      digest: body.digest,
      apiKey: tenant.key,
    })

    expect(taken).toMatchObject({ status: 409, body: { message: expect.stringContaining('SCIM of acme-hr') } })
    expect(await empty.config()).toBe(empty.text)
    await expect(stat(join(empty.folder, 'platform.key'))).rejects.toThrow('ENOENT')
  })

  test('is for admins only', async () => {
    await using empty = await openDaemon()
    const operator = await empty.newToken('ops', 'operator')

    const statuses = [
      (await empty.post('/first-visit/scim/plan', settings, operator)).status,
      (await empty.post('/first-visit/scim/connection', { ...settings, digest: 'x' }, operator)).status,
    ]

    expect(statuses).toEqual([403, 403])
  })
})
