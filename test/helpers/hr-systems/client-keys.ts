import { generateKeyPairSync, type KeyObject } from 'node:crypto'

/** The keys of a client that signs assertions. */
export type ClientKeys = {
  readonly publicKey: KeyObject
  /** PEM. */
  readonly privateKey: string
}

let known: ClientKeys | undefined

/** A pair of RSA keys, which is made once because that takes a while. */
export function createClientKeys(): ClientKeys {
  known ??= generateClientKeys()
  return known
}

/** Another pair, which no server trusts. */
export function generateClientKeys(): ClientKeys {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  return { publicKey, privateKey: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString() }
}
