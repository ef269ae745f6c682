import { createPrivateKey, type KeyObject } from 'node:crypto'
import { unreadable } from '../../file/failures.ts'
import { readSecret } from '../client/secrets.ts'
import type { TokenContext } from './token-client.ts'

const setting = 'oauth2.privateKey'
const minModulusBits = 2048

/** The private key that signs assertions. Refuses a key that does not fit the algorithm. */
export async function readSigningKey({ context }: TokenContext, algorithm: string): Promise<KeyObject> {
  const pem = await readSecret(context, setting)
  const key = parseKey(pem)
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = key
  const isElliptic = algorithm.startsWith('ES')
  const isFit = isElliptic ? type === 'ec' && details?.namedCurve === 'prime256v1' : type === 'rsa'
  if (!isFit)
    throw unreadable(`${setting} is no key for ${algorithm}`, `write ${isElliptic ? 'a P-256' : 'an RSA'} key`)
  if (!isElliptic && (details?.modulusLength ?? 0) < minModulusBits)
    throw unreadable(`${setting} has fewer than ${minModulusBits} bits`, 'make a longer key')
  return key
}

function parseKey(pem: string): KeyObject {
  if (/^-----BEGIN ENCRYPTED PRIVATE KEY-----|^Proc-Type: 4,ENCRYPTED/m.test(pem))
    throw unreadable(`${setting} is protected by a passphrase`, 'write it without one, such as by openssl pkey')
  try {
    return createPrivateKey(pem)
  } catch {
    // The cause may quote the key.
    throw unreadable(`${setting} is no private key in PEM`, 'write a text that begins with -----BEGIN PRIVATE KEY-----')
  }
}
