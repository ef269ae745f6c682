import { execFile } from 'node:child_process'
import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)

/** A key pair whose private key is in PEM. */
export type SigningKeys = { readonly pem: string; readonly publicKey: KeyObject }

/** An RSA key. */
export function rsaKeys(modulusLength = 2048): SigningKeys {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength })
  return { pem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })), publicKey }
}

/** A key on the curve P-256. */
export function ellipticKeys(): SigningKeys {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  return { pem: String(privateKey.export({ type: 'pkcs8', format: 'pem' })), publicKey }
}

/** An RSA key with a certificate made by openssl in `folder`. `days`: how long it is valid. */
export async function certifiedKey(folder: string, name: string, days: number) {
  const [keyFile, file] = [join(folder, `${name}.key`), join(folder, `${name}.pem`)]
  const request = ['-newkey', 'rsa:2048', '-nodes', '-keyout', keyFile, '-subj', '/CN=rollcall', '-out', `${file}.csr`]
  await run('openssl', ['req', ...request])
  const signed = ['x509', '-req', '-in', `${file}.csr`, '-signkey', keyFile, '-days', String(days), '-out', file]
  await run('openssl', signed)
  const [pem, certificate] = await Promise.all([keyFile, file].map((path) => readFile(path, 'utf8')))
  return { pem: pem ?? '', certificate: certificate ?? '', file }
}
