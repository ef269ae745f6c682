import { createHash } from 'node:crypto'
import type { ServerHostKeyAlgorithm } from 'ssh2'

/** SHA256:… as ssh-keygen -l prints it. */
export function fingerprintOf(hostKey: Buffer): string {
  return `SHA256:${createHash('sha256').update(hostKey).digest('base64').replace(/=+$/, '')}`
}

/** The algorithms that are left when those of the presented key are not offered any more; none where it was presented unasked. */
export function otherAlgorithms(
  offered: readonly ServerHostKeyAlgorithm[],
  presented: Buffer,
): readonly ServerHostKeyAlgorithm[] {
  const type = typeOf(presented)
  const left = offered.filter((algorithm) => (algorithm.startsWith('rsa-') ? 'ssh-rsa' : algorithm) !== type)
  return left.length < offered.length ? left : []
}

// A public key begins with the length and the name of its type.
function typeOf(hostKey: Buffer): string {
  return hostKey.length < 4 ? '' : hostKey.toString('latin1', 4, 4 + hostKey.readUInt32BE(0))
}
