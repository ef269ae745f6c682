import { errorCode } from '../errors.ts'

const untrusted = [
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
]

/** Why the certificate of a server was not accepted, and what helps; null if the error is about something else. */
export function tlsReason(error: Error, setting: string): string | null {
  const code = errorCode(error) ?? ''
  if (untrusted.includes(code)) {
    return `its certificate is not signed by an authority that this machine trusts (${code}); name the file with the certificate of its authority as ${setting}`
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return `its certificate is for another name (${code}); use a name of the server that stands in the certificate`
  }
  if (code === 'CERT_HAS_EXPIRED') return `its certificate has expired (${code}); have it renewed`
  return null
}
