import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import {
  type Certificates,
  json,
  makeCertificates,
  openHttp,
  rowsOf,
  startHrServer,
} from '../../helpers/sources/hr-server.ts'

const opened = new AsyncDisposableStack()
let folder: string
let made: Certificates

beforeAll(async () => {
  folder = opened.use(await temporaryFolder()).path
  made = await makeCertificates(folder)
})

afterAll(() => opened.disposeAsync())

describe('https', () => {
  test('is trusted through the authority that ca names, by address and by name', async () => {
    await using server = await startHrServer(json([{ id: 1 }]), made.server)
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]
    const named = { url: `https://hr.example:${server.port}/`, ca: 'ca.pem' }

    const byAddress = await openHttp({ url: server.url, ca: made.authorityFile }, { folder })
    const byName = await openHttp(named, { folder, resolve })

    expect(await rowsOf(byAddress)).toHaveLength(1)
    expect(await rowsOf(byName)).toHaveLength(1)
  })

  test('speaks HTTP/1.1, also with servers that prefer HTTP/2', async () => {
    await using server = await startHrServer(json([{ id: 1 }]), { ...made.server, ALPNProtocols: ['h2', 'http/1.1'] })

    const reading = await openHttp({ url: server.url, ca: 'ca.pem' }, { folder })

    expect(await rowsOf(reading)).toHaveLength(1)
  })

  test.each([
    ['an authority that nobody knows', {}, 'hr.example', /of an authority that this machine does not know.*name its/],
    ['a certificate for another name', { ca: 'ca.pem' }, 'other.example', /of another host .*: check the host in/],
    ['an expired certificate', { ca: 'ca.pem' }, 'hr.example', /that has expired .*: let its administrator renew it/],
  ])('is refused for %s', async (name, settings, host, message) => {
    await using server = await startHrServer(json([{ id: 1 }]), /expired/.test(name) ? made.expired : made.server)
    const resolve = async () => [{ address: '127.0.0.1', family: 4 }]

    const opening = openHttp({ url: `https://${host}:${server.port}/`, ...settings }, { folder, resolve })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(message),
    })
    expect(server.requests).toEqual([])
  })

  test('is refused where the server speaks http', async () => {
    await using server = await startHrServer(json([{ id: 1 }]))

    const opening = openHttp({ url: `https://127.0.0.1:${server.port}/` }, { folder })

    await expect(opening).rejects.toMatchObject({ code: 'source_unreadable' })
  })

  test('does not lead to http by a redirect', async () => {
    await using plain = await startHrServer(json([{ id: 1 }]))
    await using server = await startHrServer(
      (_request, response) => response.writeHead(301, { location: plain.url }).end(),
      made.server,
    )

    const opening = openHttp({ url: server.url, ca: 'ca.pem' }, { folder })

    await expect(opening).rejects.toThrow(/leads to http:.*, away from https:/)
    expect(plain.requests).toEqual([])
  })
})

describe('a client certificate', () => {
  const clientCertificate = { certificate: 'client.pem', key: 'set', passphrase: 'set' }

  function secretsWith(passphrase: string) {
    return { 'clientCertificate.key': made.clientKey, 'clientCertificate.passphrase': passphrase }
  }

  test('identifies the client to the server', async () => {
    const tls = { ...made.server, requestCert: true, rejectUnauthorized: true }
    await using server = await startHrServer(json([{ id: 1 }]), tls)
    const settings = { url: server.url, ca: 'ca.pem', clientCertificate }

    const reading = await openHttp(settings, { folder, secrets: secretsWith('open sesame') })

    expect(await rowsOf(reading)).toHaveLength(1)
  })

  test('that is missing is thought of when the server ends the connection', async () => {
    const tls = { ...made.server, requestCert: true, rejectUnauthorized: true }
    await using server = await startHrServer(json([{ id: 1 }]), tls)

    const opening = openHttp({ url: server.url, ca: 'ca.pem' }, { folder })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreachable',
      message: expect.stringContaining('check whether it wants a clientCertificate'),
    })
    expect(server.requests).toEqual([])
  })

  test.each([
    ['a wrong passphrase', 'client.pem', 'Wrong Secret', 'clientCertificate cannot be used'],
    ['a key of another certificate', 'server.pem', 'open sesame', 'clientCertificate cannot be used'],
    ['a file that is no certificate', 'server.cnf', 'open sesame', 'clientCertificate cannot be used'],
    ['a file that is not there', 'nowhere.pem', 'open sesame', 'which clientCertificate.certificate names'],
  ])('is refused for %s', async (_case, certificate, passphrase, expected) => {
    await using server = await startHrServer(json([]), made.server)
    const settings = { url: server.url, ca: 'ca.pem', clientCertificate: { ...clientCertificate, certificate } }

    const opening = openHttp(settings, { folder, secrets: secretsWith(passphrase) })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringContaining(expected),
    })
    await expect(opening).rejects.not.toThrow(/Secret|BEGIN/)
    expect(server.requests).toEqual([])
  })

  test('that has expired is refused before anything is sent', async () => {
    await using server = await startHrServer(json([]), made.server)
    const settings = { url: server.url, ca: 'ca.pem', clientCertificate: { certificate: 'expired.pem', key: 'set' } }
    const secrets = { 'clientCertificate.key': String(made.expired.key) }

    const opening = openHttp(settings, { folder, secrets })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringMatching(/^the certificate of clientCertificate expired on \d{4}-\d\d-\d\d: renew it/),
    })
    expect(server.requests).toEqual([])
  })
})

test('a file of authorities that holds none is refused', async () => {
  await writeFile(join(folder, 'empty.pem'), '')

  const opening = openHttp({ url: 'https://127.0.0.1:1/', ca: 'empty.pem' }, { folder })

  await expect(opening).rejects.toThrow('the file that ca names holds no certificates: write it in PEM')
})
