import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto'
import { promisify } from 'node:util'

const derive = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

/** Work of OWASP's recommendation with the least memory, because every attempt to sign in asks for it. */
const cost = { N: 2 ** 15, r: 8, p: 3 }
const saltBytes = 16
const hashBytes = 32
/** Node refuses parameters that need more than it is told to spend. */
const maxMemoryBytes = 256 * 1024 * 1024
/** No password has this hash. */
const unknownPassword = [
  'scrypt',
  cost.N,
  cost.r,
  cost.p,
  'A'.repeat(22),
  Buffer.alloc(hashBytes).toString('base64url'),
].join('$')

/** What to store of a password: `scrypt$N$r$p$salt$hash`, so that a later cost leaves those stored before valid. */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  const hash = await deriveKey(password, salt, cost)
  return ['scrypt', cost.N, cost.r, cost.p, salt.toString('base64url'), hash.toString('base64url')].join('$')
}

/** Whether a password is the stored one. Null stands for an unknown operator: it takes as long and is false. */
export async function isPassword(password: string, stored: string | null): Promise<boolean> {
  const [, N, r, p, salt = '', hash = ''] = (stored ?? unknownPassword).split('$')
  const expected = Buffer.from(hash, 'base64url')
  const actual = await deriveKey(password, Buffer.from(salt, 'base64url'), { N: Number(N), r: Number(r), p: Number(p) })
  return timingSafeEqual(actual, expected) && stored !== null
}

// Keyboards write one and the same letter in several ways.
function deriveKey(password: string, salt: Buffer, options: ScryptOptions): Promise<Buffer> {
  return derive(password.normalize('NFKC'), salt, hashBytes, { ...options, maxmem: maxMemoryBytes })
}
