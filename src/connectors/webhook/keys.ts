import { createPrivateKey, createPublicKey, createSecretKey, type KeyObject } from 'node:crypto'
import { Failure } from '../../errors.ts'
import type { WebhookRecipe } from './recipe.ts'

const publicKeyBytes = 32
const seedBytes = 32
const privateKeyBytes = [seedBytes, seedBytes + publicKeyBytes]
// The beginning of a PKCS #8 document, before the 32 bytes of a seed (RFC 8410).
const pkcs8Start = Buffer.from('302e020100300506032b657004220420', 'hex')

const labels = { symmetric: 'whsec_', publicKey: 'whpk_', privateKey: 'whsk_' } as const

/**
 * The key in a secret. The configuration and the secret determine its algorithm; a request never does. `prefix` stands before a signature
 * or token in the header, such as `v1,`.
 */
export type WebhookKey =
  | { readonly algorithm: 'sha256' | 'sha512'; readonly prefix: string; readonly key: KeyObject }
  | { readonly algorithm: 'ed25519'; readonly prefix: string; readonly key: KeyObject }
  | { readonly algorithm: 'token'; readonly prefix: string; readonly token: Buffer }

/** Parses a secret of a recipe. An ed25519 secret holds a public key, or a private one that can also sign. Throws `config_invalid` if it holds no key. */
export function webhookKey(recipe: WebhookRecipe, secret: string): WebhookKey {
  const { algorithm, signature } = recipe
  const { prefix } = signature
  if (secret.length === 0) throw badSecret('is empty', 'check the variable or the file that it comes from')
  if (algorithm === 'token') return { algorithm, prefix, token: tokenBytes(secret) }
  if (algorithm === 'ed25519') return { algorithm, prefix, key: ed25519Key(recipe, secret) }
  if (hasEd25519Label(recipe, secret)) {
    if (signature.publicKeyPrefix === undefined)
      throw badSecret('holds an ed25519 key', 'this recipe signs with shared secrets only')
    return { algorithm: 'ed25519', prefix: signature.publicKeyPrefix, key: ed25519Key(recipe, secret) }
  }
  return { algorithm, prefix, key: createSecretKey(secretBytes(recipe, secret)) }
}

function badSecret(problem: string, help: string): Failure {
  return new Failure('config_invalid', `a secret of the webhook ${problem}: ${help}`)
}

function tokenBytes(secret: string): Buffer {
  if (/\p{Cc}/u.test(secret) || secret.trim() !== secret)
    throw badSecret('holds a control character, or blanks around it', 'no header can carry it; check its file')
  return Buffer.from(secret, 'utf8')
}

function hasEd25519Label({ secretEncoding }: WebhookRecipe, secret: string): boolean {
  return secretEncoding === 'whsec' && [labels.publicKey, labels.privateKey].some((label) => secret.startsWith(label))
}

function secretBytes({ secretEncoding }: WebhookRecipe, secret: string): Buffer {
  const bytes = decodedSecret(secretEncoding, secret)
  if (bytes.length === 0) throw badSecret('is empty', 'check the variable or the file that it comes from')
  return bytes
}

function decodedSecret(encoding: WebhookRecipe['secretEncoding'], secret: string): Buffer {
  switch (encoding) {
    case 'utf8':
      return Buffer.from(secret, 'utf8')
    case 'hex':
      if (!/^(?:[0-9a-f]{2})*$/i.test(secret)) throw badSecret('is not hexadecimal', 'check secretEncoding')
      return Buffer.from(secret, 'hex')
    case 'base64':
      return fromBase64(secret)
    case 'whsec':
      return fromBase64(withoutLabel(secret))
    case 'pem':
      throw badSecret('is no PEM document of an ed25519 key', 'check secretEncoding')
    default:
      return encoding satisfies never
  }
}

function withoutLabel(secret: string): string {
  const label = Object.values(labels).find((text) => secret.startsWith(text)) ?? ''
  return secret.slice(label.length)
}

function fromBase64(text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  const withoutPadding = (encoded: string) => encoded.replace(/=+$/, '')
  const isExact = [bytes.toString('base64'), bytes.toString('base64url')].some(
    (again) => withoutPadding(again) === withoutPadding(text),
  )
  if (!isExact) throw badSecret('is not base64', 'check that all of it was copied, and secretEncoding')
  return bytes
}

function ed25519Key(recipe: WebhookRecipe, secret: string): KeyObject {
  try {
    if (recipe.secretEncoding === 'pem') return keyOfPem(secret)
    const bytes = secretBytes(recipe, secret)
    const isPrivate = secret.startsWith(labels.privateKey)
    if (!isPrivate && bytes.length === publicKeyBytes) {
      const x = bytes.toString('base64url')
      return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
    }
    if (isPrivate && privateKeyBytes.includes(bytes.length)) {
      const der = Buffer.concat([pkcs8Start, bytes.subarray(0, seedBytes)])
      return createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    }
  } catch (error) {
    if (error instanceof Failure) throw error
    // The message of OpenSSL may quote the key.
    throw badSecret('cannot be read as an ed25519 key', 'check that all of it was copied, and secretEncoding')
  }
  throw badSecret('has not the length of an ed25519 key', 'check that all of it was copied, and secretEncoding')
}

function keyOfPem(secret: string): KeyObject {
  const key = secret.includes('PRIVATE KEY') ? createPrivateKey(secret) : createPublicKey(secret)
  if (key.asymmetricKeyType !== 'ed25519') throw badSecret('is a key of another kind', 'expected an ed25519 key')
  return key
}
