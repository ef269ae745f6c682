import { X509Certificate } from 'node:crypto'
import { isLocalHost } from '../../connectors/http/network/private-address.ts'
import { errorCode, Failure } from '../../errors.ts'
import { readProblem, readRegular } from '../../system/regular-file.ts'

type Address = {
  readonly baseUrl?: string
  readonly insecure: boolean
  readonly caFile?: string
}

const certificate = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g

/** What is wrong with the address and certificates of the platform, by setting. */
export function addressFaults({ baseUrl, insecure, caFile }: Address): [keyof Address, string][] {
  const url = baseUrl === undefined ? null : URL.parse(baseUrl)
  const faults: readonly (readonly [boolean, keyof Address, string])[] = [
    [
      baseUrl !== undefined && isUnencrypted(baseUrl) && !insecure,
      'baseUrl',
      'http:// is not encrypted, and neither is the API key: write https://, or insecure: true',
    ],
    [
      Boolean(url?.username || url?.password),
      'baseUrl',
      'an address holds no user and no password: the key is named as apiKey',
    ],
    [url?.protocol === 'http:' && caFile !== undefined, 'caFile', 'needs https://'],
  ]
  return faults.flatMap(([isBroken, setting, message]): [keyof Address, string][] =>
    isBroken ? [[setting, message]] : [],
  )
}

/** Whether requests to this address are not encrypted on the network: http:// to another machine than this one. */
export function isUnencrypted(baseUrl: string): boolean {
  const url = URL.parse(baseUrl)
  return url?.protocol === 'http:' && !isLocalHost(url)
}

/** With this variable Node accepts any certificate, on every connection. */
export function refuseUncheckedTls(env: NodeJS.ProcessEnv): void {
  if (env.NODE_TLS_REJECT_UNAUTHORIZED !== '0') return
  throw new Failure(
    'config_invalid',
    'NODE_TLS_REJECT_UNAUTHORIZED=0 lets anyone pose as the platform: remove it from the environment, and name the root ' +
      'certificates of your own authority as platform.caFile',
  )
}

/** The root certificates in a file, or why there are none. */
export async function rootCertificates(
  file: string,
): Promise<
  { readonly pem: string; readonly problem?: undefined } | { readonly problem: string; readonly pem?: undefined }
> {
  try {
    const pem = await readRegular(file)
    const certificates = pem.match(certificate) ?? []
    if (certificates.length === 0) return { problem: `${file} holds no certificates: write them in PEM` }
    for (const one of certificates) new X509Certificate(one)
    return { pem }
  } catch (error) {
    const code = errorCode(error) ?? 'unreadable'
    if (code.startsWith('ERR_')) return { problem: `${file} holds what is no certificate (${code}): write them in PEM` }
    const problem = readProblem(error, 'create it, or let the account that runs Rollcall read it')
    return { problem: `cannot read ${file}${problem}` }
  }
}
