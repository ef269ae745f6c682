import { rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import tls from 'node:tls'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { checkAll } from '../../../src/daemon/check.ts'
import type { Config } from '../../../src/daemon/config/config.ts'
import { loadConfig } from '../../../src/daemon/config/load-config.ts'
import { openPlatform } from '../../../src/daemon/platform.ts'
import { classifyAnswer } from '../../../src/sync/rate-limit/classify-answers.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { type Certificates, json, makeCertificates, startHrServer } from '../../helpers/sources/hr-server.ts'

const opened = new AsyncDisposableStack()
let folder: string
let made: Certificates

beforeAll(async () => {
  folder = opened.use(await temporaryFolder()).path
  made = await makeCertificates(folder)
})

afterAll(() => opened.disposeAsync())

async function load(platform: string, env: NodeJS.ProcessEnv = {}): Promise<Config> {
  const file = join(folder, 'rollcall.yaml')
  await writeFile(
    file,
    `platform: { ${platform}, apiKey: '\${env:KEY}' }
connections:
  acme: { target: { name: Acme HRIS }, source: { type: csv, path: people.csv, mode: snapshot, preset: generic } }
`,
  )
  return await loadConfig(file, { KEY: 'key-of-the-platform', ...env })
}

describe('the address of the platform', () => {
  test.each([
    'baseUrl: http://127.0.0.1:4010/public/v2',
    "baseUrl: 'http://[::1]:4010/public/v2'",
    'baseUrl: http://localhost:4010/public/v2',
    'baseUrl: https://platform.example/public/v2',
    'baseUrl: https://platform.example/public/v2, insecure: true',
    'region: eu',
  ])('may be %s, of which there is nothing to warn', async (address) => {
    expect((await load(address)).platform.isUnencrypted).toBe(false)
  })

  test('may be http:// of another machine if the configuration says so, and check warns of it', async () => {
    const config = await load('baseUrl: http://127.0.0.1.example:9/public/v2, insecure: true')
    const { signal } = new AbortController()
    const options = { findDaemon: async () => null, events: silentEvents(), now: () => new Date(), signal }

    const checks = []
    for await (const check of checkAll(config, options)) {
      checks.push(check)
      if (checks.length === 2) break
    }

    expect(config.platform.isUnencrypted).toBe(true)
    expect(checks[1]?.message).toBe('warning: what is sent to the platform can be read and changed on the way')
  })

  test.each([
    ['baseUrl: http://platform.example/public/v2', /:1:22: platform\.baseUrl: http:\/\/ is not encrypted/],
    ['baseUrl: http://10.0.0.7:4010/public/v2', /write https:\/\/, or insecure: true$/],
    ['baseUrl: http://127.0.0.1.example/public/v2', /platform\.baseUrl: http:\/\/ is not encrypted/],
    ['baseUrl: https://me:sesame@platform.example/', /platform\.baseUrl: an address holds no user and no password/],
    ['baseUrl: http://127.0.0.1:1/, caFile: ca.pem', /platform\.caFile: needs https:\/\/$/],
    ['region: eu, caFile: nowhere.pem', /:1:\d+: platform\.caFile: cannot read .*nowhere\.pem \(ENOENT\)/],
    [
      'region: eu, caFile: /dev/zero',
      /platform\.caFile: cannot read \/dev\/zero: it is a device; name a regular file$/,
    ],
    ['region: eu, caFile: server.cnf', /platform\.caFile: .*server\.cnf holds no certificates: write them in PEM$/],
    ['region: eu, caFile: broken.pem', /platform\.caFile: .*broken\.pem holds what is no certificate \(ERR_OSSL_/],
  ])('%s is refused with %s', async (address, expected) => {
    await writeFile(join(folder, 'broken.pem'), '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n')

    const refused = load(address)

    await expect(refused).rejects.toMatchObject({ code: 'config_invalid', message: expect.stringMatching(expected) })
    await expect(refused).rejects.not.toThrow(/sesame/)
  })

  test('is refused if Node is told to trust every server', async () => {
    const refused = load('region: eu', { NODE_TLS_REJECT_UNAUTHORIZED: '0' })

    await expect(refused).rejects.toMatchObject({
      code: 'config_invalid',
      message: expect.stringMatching(/^NODE_TLS_REJECT_UNAUTHORIZED=0 lets anyone pose as the platform: remove it/),
    })
    await expect(load('region: eu', { NODE_TLS_REJECT_UNAUTHORIZED: '1' })).resolves.toBeDefined()
  })
})

describe('the certificate of the platform', () => {
  /** The result of a request to a platform with these TLS options, and how many requests arrived. */
  async function requestOver(options: tls.TlsOptions, { host = '127.0.0.1', caFile = 'ca.pem' as string | null } = {}) {
    const page = { data: [], pagination: { cursor: null, totalCount: 0 } }
    await using server = await startHrServer(json(page), options)
    const authority = caFile === null ? '' : `, caFile: ${caFile}`
    const config = await load(`baseUrl: 'https://${host}:${server.port}/public/v2'${authority}`)
    await using platform = openPlatform(config, null)
    const classified = classifyAnswer(await platform.client.listCustomConnections({ query: {} }))
    return { what: 'message' in classified ? classified.message : classified.kind, requests: server.requests.length }
  }

  test('is trusted through the authority of caFile, which is read when the configuration is', async () => {
    await using server = await startHrServer(json({ data: [], pagination: { cursor: null } }), made.server)
    await writeFile(join(folder, 'gone.pem'), String(made.server.ca))
    const config = await load(`baseUrl: 'https://127.0.0.1:${server.port}/public/v2', caFile: gone.pem`)
    await rm(join(folder, 'gone.pem'))
    await using platform = openPlatform(config, null)

    const answer = await platform.client.listCustomConnections({ query: {} })

    expect(answer.status).toBe(200)
    expect(server.requests[0]?.headers.authorization).toBe('Bearer key-of-the-platform')
  })

  test.each([
    ['an authority that is not known', {}, { caFile: null }, 'comes from an authority that is not known here'],
    ['another name', {}, { host: 'localhost' }, 'is for another name'],
  ])('is refused for %s, and the key is not sent', async (_case, options, settings, expected) => {
    expect(await requestOver({ ...made.server, ...options }, settings)).toEqual({
      what: `the platform cannot be reached (tls: its certificate ${expected})`,
      requests: 0,
    })
  })

  test('is refused once it has expired', async () => {
    expect(await requestOver(made.expired)).toEqual({
      what: 'the platform cannot be reached (tls: its certificate has expired)',
      requests: 0,
    })
  })

  test('is not trusted below TLS 1.2, even if Node is started to allow that', async () => {
    const { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS } = tls
    const old = { minVersion: 'TLSv1.1', maxVersion: 'TLSv1.1', ciphers: 'DEFAULT@SECLEVEL=0' } as const
    try {
      tls.DEFAULT_MIN_VERSION = 'TLSv1.1'
      tls.DEFAULT_CIPHERS = 'DEFAULT@SECLEVEL=0'

      expect(await requestOver({ ...made.server, ...old })).toEqual({
        what: 'the platform cannot be reached (tls: it speaks no TLS of version 1.2 or newer)',
        requests: 0,
      })
    } finally {
      Object.assign(tls, { DEFAULT_MIN_VERSION, DEFAULT_CIPHERS })
    }
  })

  test('is required: a server that speaks plain http is refused', async () => {
    await using server = await startHrServer(json({}))
    const config = await load(`baseUrl: 'https://127.0.0.1:${server.port}/public/v2'`)
    await using platform = openPlatform(config, null)

    const classified = classifyAnswer(await platform.client.listCustomConnections({ query: {} }))

    expect(classified).toMatchObject({ message: 'the platform cannot be reached (tls: it does not speak TLS)' })
    expect(server.requests).toEqual([])
  })
})
