import { decrypt, decryptKey, type PrivateKey, type PublicKey, readKey, readMessage, readPrivateKey } from 'openpgp'
import { Failure } from '../../../errors.ts'
import type { ConnectorContext } from '../../connector.ts'
import { joinChunks, prependChunk } from '../chunks.ts'
import { unreadable } from '../failures.ts'
import type { ExportFormat } from '../format.ts'

const armor = '-----BEGIN PGP MESSAGE'
const tickMs = 500
const maxIdleTicks = 6

// Rows are passed on before the message is read to its end, which proves it intact. Until then nothing is done with them.
const config = { allowUnauthenticatedStream: true }

type Decrypt = NonNullable<ExportFormat['decrypt']>

type DecryptOptions = {
  readonly name: string
  readonly decrypt: Decrypt
  readonly secret: ConnectorContext['secret']
  readonly signal: AbortSignal
}

/** Chunks that record whether they are being read. */
type ObservedChunks = {
  readonly chunks: AsyncGenerator<Buffer>
  /** How many times a chunk was requested or delivered. The number is odd while a reader waits for a chunk. */
  readonly steps: () => number
}

/** Decrypts an OpenPGP message. Ends normally only if the message is complete and, if a sender's key is given, signed with that key. */
export async function* decryptChunks(
  chunks: AsyncIterable<Buffer>,
  settings: DecryptOptions,
): AsyncGenerator<Uint8Array> {
  const { name, signal } = settings
  const decryptionKeys = await privateKey(settings)
  const verificationKeys = await senderKey(settings)
  const source = observe(joinChunks(chunks, armor.length))
  let reader: ReadableStreamDefaultReader<Uint8Array> | undefined
  let isEnded = false
  try {
    const message = await unlessStalled(messageFrom(source.chunks, name), source)
    const signed = verificationKeys ? { verificationKeys, expectSigned: true } : {}
    const options = { message, decryptionKeys, format: 'binary', config, ...signed } as const
    const result = await unlessStalled(decrypt(options), source)
    reader = (result.data as ReadableStream<Uint8Array>).getReader()
    for (;;) {
      const { done, value } = await unlessStalled(reader.read(), source)
      if (done) break
      yield value
    }
    isEnded = true
  } catch (error) {
    signal.throwIfAborted()
    throw toFailure(error, name)
  } finally {
    if (!isEnded) reader?.cancel().catch(() => {})
    await source.chunks.return(undefined)
  }
}

function observe(source: AsyncIterable<Buffer>): ObservedChunks {
  let steps = 1
  async function* countSteps() {
    for await (const chunk of source) {
      steps += 1
      yield chunk
      steps += 1
    }
    steps += 1
  }
  return { chunks: countSteps(), steps: () => steps }
}

/**
 * Waits for `work`, which reads the chunks. Rejects if `work` neither reads nor ends for some seconds: some damaged messages make
 * openpgp wait for ever.
 */
async function unlessStalled<T>(work: Promise<T>, { steps }: ObservedChunks): Promise<T> {
  const { promise: stalled, reject } = Promise.withResolvers<never>()
  let lastSteps = steps()
  let idleTicks = 0
  const timer = setInterval(() => {
    const isWaiting = steps() % 2 === 1
    idleTicks = isWaiting || steps() !== lastSteps ? 0 : idleTicks + 1
    lastSteps = steps()
    if (idleTicks >= maxIdleTicks) reject(new Error('neither reads nor ends'))
  }, tickMs)
  try {
    return await Promise.race([work, stalled])
  } finally {
    clearInterval(timer)
  }
}

async function messageFrom(bytes: AsyncGenerator<Buffer>, name: string) {
  const first = await bytes.next()
  if (first.done) throw unreadable(`${name} is empty`, 'check the export')
  const whole = prependChunk(first.value, bytes)
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
    pattern: /no decryption key packets found|session key decryption failed/i,
    problem: 'is encrypted for another key',
    help: 'check decrypt.privateKey',
  },
  {
    pattern: /no encrypted data found/i,
    problem: 'is an OpenPGP message that is not encrypted',
    help: 'have it encrypted for decrypt.privateKey',
  },
  {
    pattern: /no .*encrypted session key packet found/i,
    problem: 'is not encrypted for a key',
    help: 'have it encrypted for decrypt.privateKey',
  },
  {
    pattern: /not signed|could not find signing key|signature|signed digest/i,
    problem: 'is not signed by the sender',
    help: 'check decrypt.verifyWith',
  },
  {
    pattern: /modification detect|integrity|authentic/i,
    problem: 'was altered or cut off on its way',
    help: 'have it sent again',
  },
] as const

function toFailure(error: unknown, name: string): unknown {
  const cause = failureIn(error)
  if (cause) return cause
  const message = error instanceof Error ? error.message : ''
  const known = refusals.find(({ pattern }) => pattern.test(message))
  if (known) return unreadable(`${name} ${known.problem}`, known.help)
  return unreadable(`${name} is a damaged OpenPGP message`, 'the export was cut off or altered: have it sent again')
}

/** The failure of reading the file, which openpgp wraps in errors of its own. */
function failureIn(error: unknown): unknown {
  if (error instanceof Failure) return error
  return error instanceof Error && error.cause ? failureIn(error.cause) : undefined
}
