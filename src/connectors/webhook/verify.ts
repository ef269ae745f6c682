import { createHash, createPublicKey, timingSafeEqual, verify } from 'node:crypto'
import { readClaims, type WebhookHeaders } from './headers.ts'
import { type WebhookKey, webhookKey } from './keys.ts'
import type { WebhookRecipe } from './recipe.ts'
import { decodeSignature, signatureBytes, signedContent } from './signature.ts'

/** The request is from the sender. `id` and `timestamp` were signed; null if the sender does not sign them. */
export type VerifiedRequest = { readonly ok: true; readonly id: string | null; readonly timestamp: Date | null }

/** The request is refused. The message names headers and rules; it contains no secret, no signature and nothing of the body. */
type RefusedRequest = {
  readonly ok: false
  readonly reason: 'unsigned' | 'bad-signature' | 'too-old' | 'too-new' | 'malformed'
  readonly message: string
}

/** A request to verify, and how. */
export type WebhookRequest = {
  readonly recipe: WebhookRecipe
  /** All secrets that are valid now. */
  readonly secrets: readonly string[]
  readonly headers: WebhookHeaders
  /** The bytes as they arrived. */
  readonly body: Uint8Array
  readonly now: Date
  readonly toleranceSeconds: number
}

/**
 * Verifies that a request was signed with one of the secrets, and that its time is within the tolerance around now. Every secret is
 * tried with every signature, even after one matches, so that the duration reveals nothing. Throws `config_invalid` if a secret cannot be used.
 */
export function verifyWebhook({
  recipe,
  secrets,
  headers,
  body,
  now,
  toleranceSeconds,
}: WebhookRequest): VerifiedRequest | RefusedRequest {
  const keys = secrets.map((secret) => webhookKey(recipe, secret))
  const claims = readClaims(recipe, headers)
  if ('reason' in claims) return { ok: false, ...claims }
  const { signatures, id, timestamp } = claims

  const content = signedContent(recipe, { id, timestamp: timestamp?.text ?? null, body })
  const fits = keys.map((key) => matches(key, { signatures, content, recipe }))
  if (!fits.includes(true)) return refusedRequest('bad-signature', mismatchText(recipe))

  if (timestamp === null) return { ok: true, id, timestamp: null }
  const aheadSeconds = (timestamp.epochMs - now.getTime()) / 1000
  const rule = `${toleranceSeconds} s are allowed`
  if (-aheadSeconds > toleranceSeconds)
    return refusedRequest(
      'too-old',
      `the signature is ${Math.ceil(-aheadSeconds)} s old, ${rule}: it was sent late or again, or a clock is wrong`,
    )
  if (aheadSeconds > toleranceSeconds)
    return refusedRequest(
      'too-new',
      `the signature is dated ${Math.ceil(aheadSeconds)} s ahead of this machine, ${rule}: a clock is wrong`,
    )
  return { ok: true, id, timestamp: new Date(timestamp.epochMs) }
}

type SignatureInput = {
  readonly signatures: readonly string[]
  readonly content: Uint8Array
  readonly recipe: WebhookRecipe
}

function matches(key: WebhookKey, { signatures, content, recipe }: SignatureInput): boolean {
  const isOne = matcher(key, content, recipe)
  const fits = signatures.map(
    (signature) => signature.startsWith(key.prefix) && isOne(signature.slice(key.prefix.length)),
  )
  return fits.includes(true)
}

/** Returns a function that checks whether a signature without its prefix is a signature of `content` by this key. */
function matcher(key: WebhookKey, content: Uint8Array, { signature }: WebhookRecipe): (text: string) => boolean {
  const { encoding } = signature
  switch (key.algorithm) {
    case 'sha256':
    case 'sha512': {
      const expected = signatureBytes(key, content)
      return (text) => isEqual(decodeSignature(text, encoding), expected)
    }
    case 'ed25519': {
      const publicKey = key.key.type === 'private' ? createPublicKey(key.key) : key.key
      return (text) => {
        const bytes = decodeSignature(text, encoding)
        return bytes?.length === 64 && verify(null, content, publicKey, bytes)
      }
    }
    case 'token': {
      // Digests have equal lengths, so the duration reveals nothing about the length of the token.
      const expected = digest(key.token)
      return (text) => timingSafeEqual(digest(Buffer.from(text, 'latin1')), expected)
    }
    default:
      return key satisfies never
  }
}

function isEqual(bytes: Buffer | null, expected: Buffer): boolean {
  return bytes?.length === expected.length && timingSafeEqual(bytes, expected)
}

function digest(bytes: Uint8Array): Buffer {
  return createHash('sha256').update(bytes).digest()
}

function mismatchText({ algorithm, signature: { header, prefix } }: WebhookRecipe): string {
  if (algorithm === 'token') return `the header ${header} holds another token`
  const beginning = prefix === '' ? '' : ` that begins with ${prefix}`
  return `no signature${beginning} in the header ${header} fits: the secret is another one, or something on the way changes the request`
}

function refusedRequest(reason: RefusedRequest['reason'], message: string): RefusedRequest {
  return { ok: false, reason, message }
}
