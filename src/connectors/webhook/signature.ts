import { createHmac, sign } from 'node:crypto'
import type { WebhookKey } from './keys.ts'
import { signedParts, type WebhookRecipe } from './recipe.ts'

type Encoding = WebhookRecipe['signature']['encoding']

type SignedFields = { readonly id: string | null; readonly timestamp: string | null; readonly body: Uint8Array }

/** The bytes that are signed: the template with the fields of a request. The body is unchanged. */
export function signedContent({ signed }: WebhookRecipe, { id, timestamp, body }: SignedFields): Uint8Array {
  const pieces = signedParts(signed).map((part) => {
    if ('literal' in part) return Buffer.from(part.literal, 'utf8')
    return part.field === 'body' ? body : Buffer.from((part.field === 'id' ? id : timestamp) ?? '', 'latin1')
  })
  const [only] = pieces
  return pieces.length === 1 && only ? only : Buffer.concat(pieces)
}

/** The bytes of the signature of `content`; for a token, the token itself. For ed25519 the key must be private. */
export function signatureBytes(key: WebhookKey, content: Uint8Array): Buffer {
  switch (key.algorithm) {
    case 'sha256':
    case 'sha512':
      return createHmac(key.algorithm, key.key).update(content).digest()
    case 'ed25519':
      return sign(null, content, key.key)
    case 'token':
      return key.token
    default:
      return key satisfies never
  }
}

/** The text of a signature in a header. */
export function encodeSignature(bytes: Buffer, encoding: Encoding): string {
  switch (encoding) {
    case 'hex':
      return bytes.toString('hex')
    case 'hexUpper':
      return bytes.toString('hex').toUpperCase()
    case 'base64':
    case 'base64url':
      return bytes.toString(encoding)
    default:
      return encoding satisfies never
  }
}

/** The bytes in `text`, if `encodeSignature` would write them in exactly that way; otherwise null. Padding is optional. */
export function decodeSignature(text: string, encoding: Encoding): Buffer | null {
  const bytes = Buffer.from(text, encoding === 'hexUpper' ? 'hex' : encoding)
  const written = encodeSignature(bytes, encoding)
  return text === withPadding(written) || text === withoutPadding(written) ? bytes : null
}

function withoutPadding(text: string): string {
  return text.replace(/=+$/, '')
}

function withPadding(text: string): string {
  return text.padEnd(Math.ceil(text.length / 4) * 4, '=')
}
