import ssh2, { type AuthenticationType, type AuthHandlerMiddleware, type ParsedKey, type Prompt } from 'ssh2'
import type SftpClient from 'ssh2-sftp-client'
import type { ConnectorContext } from '../connector.ts'
import { unreadable } from '../file/failures.ts'

/** The password or the key of a login. */
export type Credentials = { readonly password: string } | { readonly key: ParsedKey }

/** Reads the secrets. A key that cannot be used is refused before anything is connected. */
export async function readCredentials(secret: ConnectorContext['secret']): Promise<Credentials> {
  const privateKey = secret('privateKey')
  if (privateKey) return { key: parsedKey(await privateKey.read(), await secret('passphrase')?.read()) }
  const password = secret('password')
  if (password) return { password: await password.read() }
  throw unreadable('there is neither a password nor a private key to log in with', 'set password or privateKey')
}

// The message of the parser may quote the key.
function parsedKey(text: string, passphrase: string | undefined): ParsedKey {
  const key = ssh2.utils.parseKey(text, passphrase)
  if (key instanceof Error) {
    if (/no passphrase/i.test(key.message)) throw unreadable('the private key is encrypted', 'set passphrase')
    if (/passphrase|integrity|decrypt/i.test(key.message))
      throw unreadable('the private key cannot be decrypted', 'check passphrase')
    throw unreadable('privateKey is no private key', 'give it in the format of OpenSSH, PEM or PuTTY')
  }
  if (!key.isPrivateKey()) throw unreadable('privateKey is a public key', 'give the private one that belongs to it')
  return withoutSha1(key)
}

// ssh2 signs with SHA-1 for an RSA key if the server does not state its signature algorithms, despite the configured ones.
function withoutSha1(key: ParsedKey): ParsedKey {
  const sign = key.sign
  key.sign = (data, hash) => {
    if (key.type === 'ssh-rsa' && !/^sha(256|512)$/.test(hash ?? '')) {
      const problem = 'the server accepts an RSA key only with SHA-1 signatures'
      throw unreadable(problem, 'use an ed25519 key, or let its owner bring the server up to date')
    }
    return sign.call(key, data, hash)
  }
  return key
}

/** The options of a login that tries the credentials once, with the method that fits them. */
export function authentication(client: SftpClient, credentials: Credentials, username: string) {
  if ('key' in credentials) return { authHandler: [{ type: 'publickey' as const, username, key: credentials.key }] }
  const { password } = credentials
  // Some servers request the password only in a dialogue. A prompt that echoes the input is not one for a password.
  client.on('keyboard-interactive', (_name, _instructions, _language, prompts: Prompt[], finish) =>
    finish(prompts.map(({ echo }) => (echo ? '' : password))),
  )
  const tried = new Set<AuthenticationType>()
  const authHandler: AuthHandlerMiddleware = (remaining, _partial, next) => {
    // A wrong password is not tried again with another method, because accounts get locked.
    const method =
      remaining?.includes('keyboard-interactive') && !remaining.includes('password')
        ? 'keyboard-interactive'
        : 'password'
    // False ends the attempts; the type does not declare it.
    if (tried.has(method)) return next(false as never)
    tried.add(method)
    next(method)
  }
  return { password, tryKeyboard: true, authHandler }
}
