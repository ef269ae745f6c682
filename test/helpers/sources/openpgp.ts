import {
  createMessage,
  encrypt,
  encryptSessionKey,
  enums,
  generateKey,
  PacketList,
  readKey,
  readPrivateKey,
  SymEncryptedIntegrityProtectedDataPacket,
  sign,
} from 'openpgp'

/** Somebody who reads and signs, with keys as they are written into files. */
export type KeyOwner = { readonly privateKey: string; readonly publicKey: string }

/** `aead`: reads messages that prove every piece of themselves, instead of the whole at their end. */
export async function keyOwner({ passphrase = '', aead = false } = {}): Promise<KeyOwner> {
  return generateKey({
    type: 'curve25519',
    userIDs: [{ name: 'HR' }],
    passphrase,
    config: { aeadProtect: aead },
  })
}

type Options = { readonly to: KeyOwner; readonly signedBy?: KeyOwner; readonly compressed?: boolean }

const none: readonly never[] = []

/** The bytes of an OpenPGP message. */
export async function encrypted(
  content: string | Uint8Array,
  { to, signedBy, compressed = false }: Options,
): Promise<Uint8Array> {
  const { zlib, uncompressed } = enums.compression
  return encrypt({
    message: await createMessage({ binary: Buffer.from(content) }),
    encryptionKeys: await readKey({ armoredKey: to.publicKey }),
    signingKeys: signedBy ? await readPrivateKey({ armoredKey: signedBy.privateKey }) : [...none],
    format: 'binary',
    config: { preferredCompressionAlgorithm: compressed ? zlib : uncompressed },
  })
}

/** A message that is signed and readable for everybody. */
export async function signedOnly(content: string, by: KeyOwner): Promise<Uint8Array> {
  return sign({
    message: await createMessage({ binary: Buffer.from(content) }),
    signingKeys: await readPrivateKey({ armoredKey: by.privateKey }),
    format: 'binary',
  })
}

/** What the types of openpgp leave out. */
type Encrypting = { encrypt(algorithm: enums.symmetric, key: Uint8Array): Promise<void> }

/** A message whose proof is right, and whose content is no message: one on which openpgp waits for itself. */
export async function senseless(to: KeyOwner): Promise<Uint8Array> {
  const sessionKey = { data: crypto.getRandomValues(new Uint8Array(32)), algorithm: 'aes256' as const }
  const packet = new SymEncryptedIntegrityProtectedDataPacket()
  const inner = Buffer.concat([Buffer.of(0xd2, 128), Buffer.alloc(128, 9)])
  Object.assign(packet, { version: 1, packets: { write: () => inner } })
  await (packet as unknown as Encrypting).encrypt(enums.symmetric.aes256, sessionKey.data)
  const packets = new PacketList()
  packets.push(packet)
  const encryptionKeys = await readKey({ armoredKey: to.publicKey })
  const forUs = await encryptSessionKey({ ...sessionKey, encryptionKeys, format: 'binary' })
  return Buffer.concat([forUs, packets.write()])
}
