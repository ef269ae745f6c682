import { once } from 'node:events'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import type { KexAlgorithm } from 'ssh2'
import { describe, expect, test } from 'vitest'
import { Failure } from '../../../src/errors.ts'
import { failureOf, type SessionOptions, sessionOn } from '../../helpers/sources/sftp.ts'
import { account, keyPair, type SshServerOptions, sshServer } from '../../helpers/sources/ssh-server.ts'

const ed25519 = keyPair('ed25519')
const rsa = keyPair('rsa')
const ecdsa = keyPair('ecdsa')
const locked = keyPair('ed25519', 'open sesame')

describe('a login', () => {
  test.each<[string, SshServerOptions, SessionOptions]>([
    ['a password', {}, {}],
    ['a password that is asked for in a dialogue', { dialogue: true }, {}],
    ['an ed25519 key', { publicKey: ed25519.public }, { secrets: { privateKey: ed25519.private } }],
    [
      'an encrypted key',
      { publicKey: locked.public },
      { secrets: { privateKey: locked.private, passphrase: 'open sesame' } },
    ],
  ])('works with %s', async (_case, serverOptions, sessionOptions) => {
    await using server = await sshServer(serverOptions)

    await using session = await sessionOn(server, sessionOptions)

    expect(await session.stats('nothing.csv')).toBeUndefined()
  })

  test('is not tried where the host key is none of the pinned ones, and the refusal shows the one that was presented', async () => {
    await using server = await sshServer()
    await using another = await sshServer()

    const failure = await failureOf(sessionOn(server, { hostKeys: [another.fingerprint] }))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toContain(server.fingerprint)
    expect(failure.message).toContain('nothing was sent')
    expect(server.activity.logins).toEqual([])
    await server.idle()
  })

  test('accepts any of several pinned host keys, also one that is written with its padding', async () => {
    await using server = await sshServer()
    await using another = await sshServer()

    await using session = await sessionOn(server, { hostKeys: [another.fingerprint, `${server.fingerprint}=`] })

    expect(session.server).toBe(`127.0.0.1:${server.port}`)
  })

  test('works where the pinned key is not the one that a server would present first', async () => {
    await using server = await sshServer({ hostKeys: [rsa, ed25519, ecdsa] })

    await using session = await sessionOn(server)

    expect(session.server).toContain(`${server.port}`)
    expect(server.activity.logins).toEqual(['password'])
  })

  test('is refused with all keys that the server has where none of them is pinned', async () => {
    await using server = await sshServer({ hostKeys: [rsa, ed25519, ecdsa] })
    await using another = await sshServer()

    const failure = await failureOf(sessionOn(server, { hostKeys: [another.fingerprint] }))

    expect(failure.message.match(/SHA256:/g)).toHaveLength(3)
    expect(failure.message).toContain(server.fingerprint)
    expect(server.activity.logins).toEqual([])
  })

  test.each<[string, SshServerOptions, SessionOptions, string[]]>([
    ['password', {}, { secrets: { password: 'tr0ub4dor' } }, ['password']],
    [
      'password in a dialogue',
      { dialogue: true },
      { secrets: { password: 'tr0ub4dor' } },
      ['password', 'keyboard-interactive'],
    ],
    ['key', { publicKey: locked.public }, { secrets: { privateKey: ed25519.private } }, ['publickey']],
    ['user name', {}, { username: 'tr0ub4dor' }, ['password']],
  ])(
    'with a wrong %s is refused after one attempt, without revealing the secret',
    async (_case, on, options, logins) => {
      await using server = await sshServer(on)

      const failure = await failureOf(sessionOn(server, options))

      expect(failure).toMatchObject({ code: 'source_unreadable' })
      expect(failure.message).toMatch(/refused the login with the (password|private key): check username/)
      expect(failure.message).not.toMatch(/tr0ub4dor|PRIVATE/)
      expect(server.activity.logins).toEqual(logins)
      await server.idle()
    },
  )

  test.each<[string, Record<string, string>, RegExp]>([
    ['no secret at all', {}, /neither a password nor a private key/],
    ['what is no key', { privateKey: 'hunter2' }, /no private key/],
    ['a key that was cut off', { privateKey: ed25519.private.slice(0, 200) }, /no private key/],
    ['a public key', { privateKey: ed25519.public }, /public key/],
    ['an encrypted key without its passphrase', { privateKey: locked.private }, /encrypted: set passphrase/],
    ['a wrong passphrase', { privateKey: locked.private, passphrase: 'hunter2' }, /check passphrase/],
  ])('with %s is refused before anything is connected', async (_case, values, expected) => {
    await using server = await sshServer()

    const failure = await failureOf(sessionOn(server, { secrets: values }))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(expected)
    expect(failure.message).not.toContain('hunter2')
    expect(server.activity.connections).toBe(0)
  })

  test('with an RSA key signs with SHA-2', async () => {
    await using server = await sshServer({ publicKey: rsa.public })

    await using session = await sessionOn(server, { secrets: { privateKey: rsa.private } })

    expect(session.server).toContain(`${server.port}`)
    expect(server.activity.signatures).toEqual(['sha256'])
  })

  test('with an RSA key is refused where the server does not say that it knows SHA-2', async () => {
    await using server = await sshServer({ publicKey: rsa.public, namesSignatures: false })

    const failure = await failureOf(sessionOn(server, { secrets: { privateKey: rsa.private } }))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(/only with SHA-1 signatures: use an ed25519 key/)
    expect(server.activity.signatures).toEqual([])
  })
})

describe('a connection', () => {
  test.each<[string, KexAlgorithm[]]>([
    ['SHA-1', ['diffie-hellman-group14-sha1']],
    ['a group of 1024 bits', ['diffie-hellman-group1-sha1']],
  ])('to a server that knows key exchange with %s only is refused', async (_case, kex) => {
    await using server = await sshServer({ algorithms: { kex } })

    const failure = await failureOf(sessionOn(server))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(/offers no key exchange algorithm that Rollcall accepts/)
    expect(server.activity.logins).toEqual([])
  })

  test('is never compressed', async () => {
    await using server = await sshServer({ algorithms: { compress: ['zlib@openssh.com', 'zlib'] } })

    const failure = await failureOf(sessionOn(server))

    expect(failure.message).toMatch(/compression/)
  })

  test('to a server without SFTP is refused', async () => {
    await using server = await sshServer({ sftp: false })

    const failure = await failureOf(sessionOn(server))

    expect(failure).toMatchObject({ code: 'source_unreadable' })
    expect(failure.message).toMatch(/opens no SFTP/)
  })

  test('to a port where nobody listens can be tried again', async () => {
    const port = await freePort(createServer())

    const failure = await failureOf(sessionOn({ port, fingerprint: 'SHA256:none' }))

    expect(failure).toMatchObject({ code: 'source_unreachable', retry: true })
    expect(failure.message).toMatch(/refused the connection: *check host and port|it refused the connection/)
  })

  test('to a host that does not exist can be tried again', async () => {
    const failure = await failureOf(sessionOn({ port: 22, fingerprint: 'SHA256:none' }, { host: 'sftp.invalid' }))

    expect(failure).toMatchObject({ code: 'source_unreachable' })
    expect(failure.message).toMatch(/^cannot connect to sftp\.invalid:22: .*name/)
  })

  test.each<[string, (socket: Socket) => void, string, RegExp]>([
    [
      'speaks HTTP',
      (socket) => socket.write('HTTP/1.1 400 Bad Request\r\n\r\n'.repeat(2000)),
      'source_unreadable',
      /SSH/,
    ],
    ['sends endless noise', (socket) => socket.write(Buffer.alloc(1024 * 1024, 'x')), 'source_unreadable', /SSH/],
    ['closes at once', (socket) => socket.end(), 'source_unreachable', /closed the connection before it was secured/],
    ['resets at once', (socket) => socket.resetAndDestroy(), 'source_unreachable', /closed the connection/],
    ['says nothing', () => {}, 'source_unreachable', /did not complete the login within 300 ms/],
  ])('to a server that %s fails in bounded time', async (_case, behave, code, expected) => {
    await using server = await rawServer(behave)

    const failure = await failureOf(sessionOn(server, { connectTimeoutMs: 300 }))

    expect(failure).toBeInstanceOf(Failure)
    expect(failure.code).toBe(code)
    expect(failure.message).toMatch(expected)
  })

  test('that is given up while it is made is closed at once', async () => {
    const controller = new AbortController()
    const met = Promise.withResolvers<Socket>()
    await using server = await rawServer(met.resolve)

    const opening = failureOf(sessionOn(server, { signal: controller.signal }))
    const socket = await met.promise
    const closed = once(socket, 'close')
    controller.abort(new Error('stop'))

    expect((await opening).message).toBe('stop')
    await closed
  })

  test('is closed when the session ends, and serves no request any more', async () => {
    await using server = await sshServer()
    const session = await sessionOn(server)

    await session[Symbol.asyncDispose]()

    await server.idle()
    expect((await failureOf(session.stats('people.csv'))).message).toMatch(/closed the connection/)
  })
})

test('the password is read for every connection', async () => {
  await using server = await sshServer()
  const values = { password: 'old one' }

  const first = await failureOf(sessionOn(server, { secrets: values }))
  values.password = account.password
  await using second = await sessionOn(server, { secrets: values })

  expect(first.message).toMatch(/refused the login/)
  expect(second.server).toContain('127.0.0.1')
})

async function freePort(server: ReturnType<typeof createServer>): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function rawServer(behave: (socket: Socket) => void) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => {}).resume()
    behave(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    fingerprint: 'SHA256:none',
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
