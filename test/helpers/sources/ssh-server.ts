import { createHash } from 'node:crypto'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import ssh2, { type Algorithms, type AuthContext, type Connection, type PublicKeyAuthContext } from 'ssh2'
import { temporaryFolder } from './folders.ts'
import { type Faults, type ServerActivity, serveFolder } from './sftp-folder.ts'

export type SshServer = AsyncDisposable & {
  readonly port: number
  /** What it serves, as the client's home folder. */
  readonly folder: string
  readonly fingerprint: string
  readonly faults: Faults
  readonly activity: ServerActivity
  /** Resolves once no connection is open any more. */
  readonly idle: () => Promise<void>
}

export type SshServerOptions = {
  /** Of several kinds; the first gives the fingerprint. */
  readonly hostKeys?: readonly { readonly private: string }[]
  readonly password?: string
  /** The public key, as a line of authorized_keys, that may log in. */
  readonly publicKey?: string
  /** Whether the password is asked for in a dialogue only. */
  readonly dialogue?: boolean
  readonly algorithms?: Algorithms
  readonly sftp?: boolean
  /** Whether it says which signatures it knows. */
  readonly namesSignatures?: boolean
}

export const account = { username: 'hr-export', password: 'correct horse' }

/** A new pair of keys. One in some hundred that ssh2 makes cannot be read by ssh2 again; such a pair is made anew. */
export function keyPair(
  type: 'ed25519' | 'ecdsa' | 'rsa',
  passphrase?: string,
): { readonly private: string; readonly public: string } {
  const bits = { ed25519: undefined, ecdsa: 256, rsa: 2048 }[type]
  const locked = passphrase === undefined ? {} : { cipher: 'aes256-ctr', passphrase, rounds: 4 }
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync(type as 'rsa', { bits: bits as number, ...locked })
    if (!(ssh2.utils.parseKey(pair.private, passphrase) instanceof Error)) return pair
  }
}

/** A real SSH server with an SFTP subsystem over a temporary folder. */
export async function sshServer(options: SshServerOptions = {}): Promise<SshServer> {
  const folder = await temporaryFolder()
  const hostKeys = (options.hostKeys ?? [keyPair('ed25519')]).map((key) => key.private)
  const faults: Faults = {}
  const activity: ServerActivity = { fileBytes: 0, connections: 0, logins: [], requests: [], signatures: [] }
  const sockets = new Set<Socket>()
  let idle = Promise.withResolvers<void>()
  // Not destroyed, which can take back what was sent: a test counts on how much that was.
  const cut = () => {
    for (const socket of sockets) socket.end()
  }

  const ssh = new ssh2.Server(
    { hostKeys, ...(options.algorithms ? { algorithms: options.algorithms } : {}) },
    (client) => {
      client.on('error', () => {})
      if (options.namesSignatures === false) concealSignatures(client)
      client.on('authentication', (login) => authenticate(login, options, activity))
      client.on('session', (accept) => {
        const session = accept()
        if (options.sftp !== false)
          session.on('sftp', (start) => serveFolder(start(), { folder: folder.path, faults, activity, cut }))
      })
    },
  )
  const server = createServer({ noDelay: true }, (socket) => {
    activity.connections += 1
    sockets.add(socket)
    socket.on('error', () => {})
    socket.on('close', () => {
      sockets.delete(socket)
      if (sockets.size > 0) return
      idle.resolve()
      idle = Promise.withResolvers()
    })
    ssh.injectSocket(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    folder: folder.path,
    fingerprint: fingerprint(hostKeys[0] ?? ''),
    faults,
    activity,
    idle: () => (sockets.size === 0 ? Promise.resolve() : idle.promise),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve))
      for (const socket of sockets) socket.destroy()
      await closed
      await folder[Symbol.asyncDispose]()
    },
  }
}

function fingerprint(privateKey: string): string {
  const key = ssh2.utils.parseKey(privateKey)
  if (key instanceof Error) throw key
  return `SHA256:${createHash('sha256').update(key.getPublicSSH()).digest('base64').replaceAll('=', '')}`
}

function authenticate(login: AuthContext, options: SshServerOptions, activity: ServerActivity): void {
  activity.logins.push(login.method)
  if (login.method === 'publickey' && login.signature) activity.signatures.push(String(login.hashAlgo))
  const { password = account.password, publicKey, dialogue } = options
  const method = publicKey ? 'publickey' : dialogue ? 'keyboard-interactive' : 'password'
  const decide = (right: boolean) => (right ? login.accept() : login.reject([method]))
  if (login.method !== method || login.username !== account.username) decide(false)
  else if (login.method === 'password') decide(login.password === password)
  else if (login.method === 'publickey') decide(isSignedBy(login, publicKey ?? ''))
  else if (login.method === 'keyboard-interactive')
    login.prompt([{ prompt: 'Password: ', echo: false }], ([answer]) => decide(answer === password))
}

/** Makes the server one of those that do not know RFC 8308; ssh2 has no setting for it. */
function concealSignatures(client: Connection): void {
  const { _protocol: protocol } = client as unknown as {
    _protocol: { _onHandshakeComplete: (...args: unknown[]) => void; _kex: { remoteExtInfoEnabled: boolean } }
  }
  const complete = protocol._onHandshakeComplete
  protocol._onHandshakeComplete = (...args) => {
    protocol._kex.remoteExtInfoEnabled = false
    complete(...args)
  }
}

/** A client asks without a signature first whether a key may log in at all. */
function isSignedBy({ key, signature, blob, hashAlgo }: PublicKeyAuthContext, publicKey: string): boolean {
  const known = ssh2.utils.parseKey(publicKey)
  if (known instanceof Error) throw known
  if (!known.getPublicSSH().equals(key.data)) return false
  return !signature || !blob || known.verify(blob, signature, hashAlgo)
}
