import { createHash, createPublicKey, type KeyObject, verify } from 'node:crypto'

/** A signed statement that the trail has so many entries and ends with this hash. */
export type Checkpoint = {
  readonly ordinal: number
  /** How many entries the head before it stood for; 0: there was none. */
  readonly previous: number
  readonly hash: string
  readonly at: string
  /** The public key: SPKI, DER, base64. */
  readonly key: string
  readonly signature: string
}

/** What stands before the first entry. */
export const firstHash = '0'.repeat(64)

export function digestOf(entry: string): string {
  return createHash('sha256').update(entry).digest('hex')
}

/** The hash of an entry: of the hash before it and the digest of its text, each in small hexadecimals, with a line end between them. */
export function nextHash(before: string, digest: string): string {
  return createHash('sha256').update(`${before}\n${digest}`).digest('hex')
}

/** The text that is signed. */
export function checkpointText({ ordinal, previous, hash, at }: Omit<Checkpoint, 'key' | 'signature'>): string {
  return `rollcall audit head\n${ordinal}\n${previous}\n${hash}\n${at}\n`
}

/** Whether the key that a head names has signed it. A signature that is written in another way than ours counts as none. */
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
