import { X509Certificate } from 'node:crypto'
import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { Failure } from '../../../errors.ts'
import { readProblem, readRegular } from '../../../system/regular-file.ts'
import type { ConnectorContext } from '../../connector.ts'
import { unreadable } from '../../file/failures.ts'
import type { HttpSource } from '../settings/settings.ts'
import { readSecret } from './secrets.ts'

/** Certificates and keys in PEM. */
type TlsMaterial = {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly passphrase?: string
}

/** The certificates and keys for TLS. Refuses files that are missing, and a key that does not belong to the certificate. */
export async function tlsMaterial(
  { ca, clientCertificate }: Pick<HttpSource, 'ca' | 'clientCertificate'>,
  context: ConnectorContext,
): Promise<TlsMaterial> {
  const authorities = ca === undefined ? {} : { ca: await readPemFile(ca, 'ca', context) }
  checkMaterial(authorities, 'the file that ca names holds no certificates', 'write it in PEM')
  if (!clientCertificate) return authorities
  const material = {
    ...authorities,
    cert: await readPemFile(clientCertificate.certificate, 'clientCertificate.certificate', context),
    key: await readSecret(context, 'clientCertificate.key'),
    passphrase:
      clientCertificate.passphrase === undefined
        ? undefined
        : await readSecret(context, 'clientCertificate.passphrase'),
  }
  checkMaterial(
    material,
    'clientCertificate cannot be used',
    'write certificate and key in PEM, which belong together, with the passphrase',
  )
  checkNotExpired(material.cert, 'clientCertificate', new Date())
  return material
}

/** Refuses a certificate (PEM) that is no longer valid. `setting` names it. */
export function checkNotExpired(certificate: string, setting: string, now: Date): void {
  const { validToDate } = new X509Certificate(certificate)
  if (validToDate >= now) return
  throw unreadable(
    `the certificate of ${setting} expired on ${validToDate.toISOString().slice(0, 10)}`,
    'renew it, and let the HR system know the new one',
  )
}

/** The text of a PEM file that `setting` names, relative to the folder of the configuration file. */
export async function readPemFile(path: string, setting: string, { baseDir }: ConnectorContext): Promise<string> {
  const file = resolve(baseDir, path)
  try {
    return await readRegular(file)
  } catch (error) {
    const problem = readProblem(error, 'check the path and its permissions')
    throw new Failure('source_unreadable', `cannot read ${file}, which ${setting} names${problem}`)
  }
}

function checkMaterial(material: TlsMaterial, problem: string, help: string): void {
  if (material.ca !== undefined && !material.ca.includes('-----BEGIN')) throw unreadable(problem, help)
  try {
    createSecureContext(material)
  } catch {
    // The cause may quote the files.
    throw unreadable(problem, help)
  }
}
