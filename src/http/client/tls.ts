/** How every server that we connect to has to prove who it is, whatever the environment or the command line of Node say. */
export const provenServers = { rejectUnauthorized: true, minVersion: 'TLSv1.2' } as const

const otherName = 'its certificate is for another name'
const unknownAuthority = 'its certificate comes from an authority that is not known here'

const causes: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: 'its certificate has expired',
  CERT_NOT_YET_VALID: 'its certificate is not valid yet: compare the clocks',
  CERT_REVOKED: 'its certificate was revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: otherName,
  HOSTNAME_MISMATCH: otherName,
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: 'it speaks no TLS of version 1.2 or newer',
  ERR_SSL_UNSUPPORTED_PROTOCOL: 'it speaks no TLS of version 1.2 or newer',
  ERR_SSL_WRONG_VERSION_NUMBER: 'it does not speak TLS',
  ERR_SSL_PACKET_LENGTH_TOO_LONG: 'it does not speak TLS',
}

/** What an error of TLS says of the server; undefined where its code says no more than that it was one. */
export function tlsCause(code: string): string | undefined {
  return causes[code]
}
