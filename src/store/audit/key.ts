import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  sign,
} from 'node:crypto'
import type { KyselyPlugin } from 'kysely'
import { Failure } from '../../errors.ts'
import type { Db } from '../schema.ts'

/** The key of an installation: it signs checkpoints of the audit trail and makes keyed digests of values. */
export type AuditKey = {
  /** The public key as checkpoints name it: SPKI, DER, base64. */
  readonly publicKey: string
  /** Signs a text; base64. */
  sign(text: string): string
  /** Authenticates a text: a MAC that only a process with this key can make. */
  mac(text: string): string
  /** A keyed digest of a value: equal for equal values of one field, and meaningless without the key. */
  digest(field: string, value: string): string
}

const macOf = 'rollcall audit entry'
const digestOf = 'rollcall value'

/** Reads an ed25519 key in PKCS#8 PEM. Fails with `config_invalid`; the message names `from`. */
export function auditKey(pem: string, from: string): AuditKey {
  const privateKey = readPrivate(pem, from)
  const seed = privateKey.export({ type: 'pkcs8', format: 'der' })
  const derived = (purpose: string) => Buffer.from(hkdfSync('sha256', seed, '', purpose, 32))
  const macKey = derived(macOf)
  const digestKey = derived(digestOf)
  const publicKey = spkiOf(createPublicKey(privateKey))
  return {
    publicKey,
    sign: (text) => sign(null, Buffer.from(text), privateKey).toString('base64'),
    mac: (text) => createHmac('sha256', macKey).update(text).digest('base64'),
    digest: (field, value) =>
      `hmac-sha256:${createHmac('sha256', digestKey).update(`${field}\n${value}`).digest('hex')}`,
  }
}

/** Generates an ed25519 key in PKCS#8 PEM. */
export function newKeyPem(): string {
  return generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
}

/** The public key in PEM, as openssl reads it. */
export function publicPem(publicKey: string): string {
  return `-----BEGIN PUBLIC KEY-----\n${publicKey}\n-----END PUBLIC KEY-----\n`
}

/** Reads a public key in PEM; returns it as checkpoints name it. Fails with `usage`. */
export function publicKeyOf(pem: string): string {
  try {
    return spkiOf(createPublicKey(pem))
  } catch (error) {
    throw new Failure('usage', 'the public key is none: expected ed25519 in PEM, as audit-key.pub.pem holds it', {
      cause: error,
    })
  }
}

function readPrivate(pem: string, from: string): KeyObject {
  const help = 'it has to be an ed25519 key in PKCS#8 PEM, as "openssl genpkey -algorithm ed25519" makes it'
  try {
    const key = createPrivateKey(pem)
    if (key.asymmetricKeyType === 'ed25519') return key
  } catch {
    // The message of the parser may quote the key.
  }
  throw new Failure('config_invalid', `${from} holds no signing key: ${help}`)
}

function spkiOf(key: KeyObject): string {
  return key.export({ type: 'spki', format: 'der' }).toString('base64')
}

/** Attaches the key of this process to the database, so that every transaction has it. It changes no query. */
export class Signing implements KyselyPlugin {
  /** null: there is no key that may add to this trail. */
  key: AuditKey | null

  constructor(key: AuditKey | null) {
    this.key = key
  }

  transformQuery: KyselyPlugin['transformQuery'] = ({ node }) => node
  transformResult: KyselyPlugin['transformResult'] = async ({ result }) => result
}

/** The key that is attached to a database or transaction; null if there is none. */
export function keyOf(db: Db): AuditKey | null {
  return db.getExecutor().plugins.find((plugin) => plugin instanceof Signing)?.key ?? null
}
