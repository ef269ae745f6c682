import { errorCode } from '../errors.ts'
import { tlsFault, tlsFaults } from '../system/tls-fault.ts'

/** Why a TLS connection failed, and what helps; null for any other error. */
export function tlsReason(error: Error, setting: string): string | null {
  const code = errorCode(error) ?? ''
  const fault = tlsFault(code)
  if (fault === undefined) return null
  const help: Readonly<Record<string, string>> = {
    [tlsFaults.unknownAuthority]: `; name the file with the certificate of its authority as ${setting}`,
    [tlsFaults.otherHostName]: '; use a name of the server that the certificate contains',
    [tlsFaults.expired]: '; have it renewed',
  }
  return `${fault} (${code})${help[fault] ?? ''}`
}
