import { errorCode } from '../errors.ts'
import { tlsFault, tlsFaults } from '../system/tls-fault.ts'

/** Why TLS with a server did not come about, and what helps; null if the error is about something else. */
export function tlsReason(error: Error, setting: string): string | null {
  const code = errorCode(error) ?? ''
  const fault = tlsFault(code)
  if (fault === undefined) return null
  const help: Readonly<Record<string, string>> = {
    [tlsFaults.unknownAuthority]: `; name the file with the certificate of its authority as ${setting}`,
    [tlsFaults.otherHostName]: '; use a name of the server that stands in the certificate',
    [tlsFaults.expired]: '; have it renewed',
  }
  return `${fault} (${code})${help[fault] ?? ''}`
}
