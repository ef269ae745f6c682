import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** The OWASP recommendation with the least memory: every sign-in attempt needs the memory. */
const cost = { N: 2 ** 15, r: 8, p: 3 }
const saltBytes = 16
const hashBytes = 32
/** The memory limit for Node, which refuses the parameters above by default. */
const maxMemoryBytes = 256 * 1024 * 1024
/** A hash that no password has. */
const unknownPassword = [
  'scrypt',
  cost.N,
  cost.r,
  cost.p,
  'A'.repeat(22),
  Buffer.alloc(hashBytes).toString('base64url'),
].join('$')

/** The stored form of a password: `scrypt$N$r$p$salt$hash`. Hashes with an older cost stay valid. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  const hash = await deriveKey(password, salt, cost)
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** Whether the password matches the stored one. Null means an unknown operator: false, after the same time. */
export async function isPassword(password: string, stored: string | null): Promise<boolean> {
  const [, N, r, p, salt = '', hash = ''] = (stored ?? unknownPassword).split('$')
  const expected = Buffer.from(hash, 'base64url')
  const actual = await deriveKey(password, Buffer.from(salt, 'base64url'), { N: Number(N), r: Number(r), p: Number(p) })
  return timingSafeEqual(actual, expected) && stored !== null
}

// Keyboards encode the same letter differently.
function deriveKey(password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  return derive(password.normalize('NFKC'), salt, hashBytes, { ...options, maxmem: maxMemoryBytes })
}
