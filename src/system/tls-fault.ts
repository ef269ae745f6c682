const unknownAuthority = 'its certificate comes from an authority that is not known here'
const otherHostName = 'its certificate is for another name'
const expired = 'its certificate has expired'
const tooOld = 'it speaks no TLS of version 1.2 or newer'
const noTls = 'it does not speak TLS'

/** The faults for which callers add help of their own. */
export const tlsFaults = { unknownAuthority, otherHostName, expired } as const

const byCode: Readonly<Record<string, string>> = {
  CERT_HAS_EXPIRED: expired,
  CERT_NOT_YET_VALID: 'its certificate is not valid yet: compare the clocks',
  CERT_REVOKED: 'its certificate was revoked',
  ERR_TLS_CERT_ALTNAME_INVALID: otherHostName,
  HOSTNAME_MISMATCH: otherHostName,
  DEPTH_ZERO_SELF_SIGNED_CERT: unknownAuthority,
  SELF_SIGNED_CERT_IN_CHAIN: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT: unknownAuthority,
  UNABLE_TO_GET_ISSUER_CERT_LOCALLY: unknownAuthority,
  UNABLE_TO_VERIFY_LEAF_SIGNATURE: unknownAuthority,
  ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION: tooOld,
  ERR_SSL_UNSUPPORTED_PROTOCOL: tooOld,
  ERR_SSL_WRONG_VERSION_NUMBER: noTls,
  ERR_SSL_PACKET_LENGTH_TOO_LONG: noTls,
}

/** What a TLS error code says about the server, as a clause; undefined for a code that the table does not have. */
export function tlsFault(code: string): string | undefined {
  return byCode[code]
}
