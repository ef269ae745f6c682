import { decrypt, decryptKey, type PrivateKey, type PublicKey, readKey, readMessage, readPrivateKey } from 'openpgp'
import { Failure } from '../../../errors.ts'
import type { ConnectorPlace } from '../../connector.ts'
import { unreadable } from '../failures.ts'
import type { ExportFormat } from '../format.ts'
import { atLeast, prepended } from './chunks.ts'

const armor = '-----BEGIN PGP MESSAGE'
const tickMs = 500
const stuckTicks = 6

// Rows are handed out while the message is read, and count only when its end has proved it intact.
const config = { allowUnauthenticatedStream: true }

type Decrypt = NonNullable<ExportFormat['decrypt']>

type DecryptOptions = {
  readonly name: string
  readonly decrypt: Decrypt
  readonly secret: ConnectorPlace['secret']
  readonly signal: AbortSignal
}

/** A source of bytes that tells whether it is being read. */
type WatchedChunks = {
  readonly chunks: AsyncGenerator<Buffer>
  /** How often it was asked for bytes, or had answered. Odd while somebody waits for it. */
  readonly steps: () => number
}

/** What an OpenPGP message holds. Ends normally only where the message proved to be whole and, where a sender's key is given, signed with it. */
export async function* decrypted(chunks: AsyncIterable<Buffer>, settings: DecryptOptions): AsyncGenerator<Uint8Array> {
  const { name, signal } = settings
  const decryptionKeys = await privateKey(settings)
  const verificationKeys = await senderKey(settings)
  const source = watched(atLeast(chunks, armor.length))
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let ended = false
  try {
    const message = await unlessStuck(messageFrom(source.chunks, name), source)
    const signed = verificationKeys ? { verificationKeys, expectSigned: true } : {}
    const options = { message, decryptionKeys, format: 'binary', config, ...signed } as const
    const result = await unlessStuck(decrypt(options), source)
    reader = (result.data as ReadableStream<Uint8Array>).getReader()
    for (;;) {
      const { done, value } = await unlessStuck(reader.read(), source)
      if (done) break
      yield value
    }
    ended = true
  } catch (error) {
    signal.throwIfAborted()
    throw refusalOf(error, name)
  } finally {
    if (!ended) reader?.cancel().catch(() => {})
    await source.chunks.return(undefined)
  }
}

function watched(source: AsyncIterable<Buffer>): WatchedChunks {
  let steps = 1
  async function* counted() {
    for await (const chunk of source) {
      steps += 1
      yield chunk
      steps += 1
    }
    steps += 1
  }
  return { chunks: counted(), steps: () => steps }
}

/**
 * What `work` comes to, as long as it goes on taking from its source. Where it neither does for seconds nor comes to an end, it waits for
 * itself and would do so for ever: openpgp does with some damaged messages.
 */
async function unlessStuck<T>(work: Promise<T>, { steps }: WatchedChunks): Promise<T> {
  const { promise: stuck, reject } = Promise.withResolvers<never>()
  let seen = steps()
  let idleTicks = 0
  const timer = setInterval(() => {
    const isWaiting = steps() % 2 === 1
    idleTicks = isWaiting || steps() !== seen ? 0 : idleTicks + 1
    seen = steps()
    if (idleTicks >= stuckTicks) reject(new Error('neither goes on nor ends'))
  }, tickMs)
  try {
    return await Promise.race([work, stuck])
  } finally {
    clearInterval(timer)
  }
}

async function messageFrom(bytes: AsyncGenerator<Buffer>, name: string) {
  const first = await bytes.next()
  if (first.done) throw unreadable(`${name} is empty`, 'check the export')
  const whole = prepended(first.value, bytes)
  try {
    if (first.value.toString('latin1', 0, armor.length) === armor)
      return await readMessage({ armoredMessage: ReadableStream.from(texts(whole)), config })
    return await readMessage({ binaryMessage: ReadableStream.from(whole), config })
  } catch (error) {
    if (error instanceof Failure) throw error
    throw unreadable(`${name} is no OpenPGP message`, 'check decrypt, and whether the export is encrypted', {
      cause: error,
    })
  }
}

async function* texts(chunks: AsyncIterable<Buffer>): AsyncGenerator<string> {
  for await (const chunk of chunks) yield chunk.toString('latin1')
}

async function privateKey({ secret }: DecryptOptions): Promise<PrivateKey> {
  const armoredKey = await secret('decrypt.privateKey')?.read()
  const passphrase = await secret('decrypt.passphrase')?.read()
  if (armoredKey === undefined) throw unreadable('there is no key to decrypt the export with', 'set decrypt.privateKey')
  const key = await readPrivateKey({ armoredKey }).catch(() => {
    throw unreadable(
      'decrypt.privateKey is no OpenPGP private key',
      'give the armored text, from BEGIN PGP PRIVATE KEY BLOCK to END',
    )
  })
  if (key.isDecrypted()) return key
  if (passphrase === undefined) throw unreadable('decrypt.privateKey is protected', 'set decrypt.passphrase')
  return decryptKey({ privateKey: key, passphrase }).catch(() => {
    throw unreadable('decrypt.passphrase does not open decrypt.privateKey', 'check both')
  })
}

async function senderKey({ decrypt: { verifyWith }, secret }: DecryptOptions): Promise<PublicKey | undefined> {
  const armoredKey = (await secret('decrypt.verifyWith')?.read()) ?? verifyWith
  if (armoredKey === undefined) return undefined
  return readKey({ armoredKey }).catch(() => {
    throw unreadable(
      'decrypt.verifyWith is no OpenPGP public key',
      'give the armored text, from BEGIN PGP PUBLIC KEY BLOCK to END',
    )
  })
}

const refusals = [
  {
    sign: /no decryption key packets found|session key decryption failed/i,
    what: 'is encrypted for another key',
    help: 'check decrypt.privateKey',
  },
  {
    sign: /no encrypted data found/i,
    what: 'is an OpenPGP message that is not encrypted',
    help: 'have it encrypted for decrypt.privateKey',
  },
  {
    sign: /no .*encrypted session key packet found/i,
    what: 'is not encrypted for a key',
    help: 'have it encrypted for decrypt.privateKey',
  },
  {
    sign: /not signed|could not find signing key|signature|signed digest/i,
    what: 'is not signed by the sender',
    help: 'check decrypt.verifyWith',
  },
  {
    sign: /modification detect|integrity|authentic/i,
    what: 'was altered or cut off on its way',
    help: 'have it sent again',
  },
] as const

function refusalOf(error: unknown, name: string): unknown {
  const cause = failureIn(error)
  if (cause) return cause
  const message = error instanceof Error ? error.message : ''
  const known = refusals.find(({ sign }) => sign.test(message))
  if (known) return unreadable(`${name} ${known.what}`, known.help)
  return unreadable(`${name} is a damaged OpenPGP message`, 'the export was cut off or altered: have it sent again')
}

/** What the reading of the file refused, which passes through the decryption. */
function failureIn(error: unknown): unknown {
  if (error instanceof Failure) return error
  return error instanceof Error && error.cause ? failureIn(error.cause) : undefined
}
