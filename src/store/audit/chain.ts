import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'

/** A signed checkpoint: the trail has `ordinal` entries and ends with this hash. */
export type Checkpoint = {
  readonly ordinal: number
  /** Ordinal of the previous checkpoint; 0: there is none. */
  readonly previous: number
  readonly hash: string
  readonly at: string
  /** The public key: SPKI, DER, base64. */
  readonly key: string
  readonly signature: string
}

/** The hash before the first entry. */
export const firstHash = '0'.repeat(64)

/** SHA-256 of the text of an entry, in hexadecimal digits. */
export function digestOf(entry: string): string {
  return createHash('sha256').update(entry).digest('hex')
}

/**
 * The hash of an entry: SHA-256 of the previous hash and the digest of the entry, in lower-case hexadecimal digits, with a line feed
 * between them.
 */
export function nextHash(before: string, digest: string): string {
  return createHash('sha256').update(`${before}\n${digest}`).digest('hex')
}

/** The text that a checkpoint signs. */
export function checkpointText({ ordinal, previous, hash, at }: Omit<Checkpoint, 'key' | 'signature'>): string {
  return `rollcall audit head\n${ordinal}\n${previous}\n${hash}\n${at}\n`
}

/** Whether the signature of a checkpoint is valid for the key that it names. A signature in another encoding than ours is invalid. */
export function isSigned(head: Checkpoint): boolean {
  const signature = Buffer.from(head.signature, 'base64')
  if (signature.toString('base64') !== head.signature) return false
  const key = readKey(head.key)
  return key !== null && verify(null, Buffer.from(checkpointText(head)), key, signature)
}

function readKey(key: string): KeyObject | null {
  try {
    return createPublicKey({ key: Buffer.from(key, 'base64'), format: 'der', type: 'spki' })
  } catch {
    return null
  }
}
