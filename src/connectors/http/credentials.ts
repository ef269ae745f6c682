import { resolve } from 'node:path'
import { createSecureContext } from 'node:tls'
import { Failure } from '../../errors.ts'
import { readProblem, readRegular } from '../../system/regular-file.ts'
import type { ConnectorContext } from '../connector.ts'
import { unreadable } from '../file/failures.ts'
import type { HttpSource } from './settings.ts'

/** Certificates and keys in PEM. */
type TlsMaterial = {
  readonly ca?: string
  readonly cert?: string
  readonly key?: string
  readonly passphrase?: string
}

/** The headers with the credentials. Secrets are read for every request, so that a replaced file takes effect. */
export async function credentialHeaders(
  source: HttpSource,
  context: ConnectorContext,
): Promise<Record<string, string>> {
  const { basic, bearer, apiKey } = source
  if (bearer !== undefined) return { authorization: `Bearer ${await readHeaderSecret(context, 'bearer')}` }
  if (apiKey) return { [apiKey.header.toLowerCase()]: await readHeaderSecret(context, 'apiKey.value') }
  if (!basic) return {}
  // Some systems expect their key as the user name, which is then a secret.
  const username = (await context.secret('basic.username')?.read()) ?? basic.username
  const pair = `${username}:${await readSecret(context, 'basic.password')}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}

/** The certificates and keys for TLS. Refuses files that are missing, and a key that does not belong to the certificate. */
export async function tlsMaterial(
  { ca, clientCertificate }: HttpSource,
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
  return material
}

async function readHeaderSecret(context: ConnectorContext, path: string): Promise<string> {
  const text = await readSecret(context, path)
  if (/^[\x20-\x7e]+$/.test(text)) return text
  throw unreadable(
    `the secret ${path} is empty or holds characters that no header can carry`,
    'check its file for line ends',
  )
}

async function readSecret(context: ConnectorContext, path: string): Promise<string> {
  const secret = context.secret(path)
  if (!secret) throw unreadable(`the secret ${path} is missing`, 'name it in the configuration')
  return secret.read()
}

async function readPemFile(path: string, setting: string, { baseDir }: ConnectorContext): Promise<string> {
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
