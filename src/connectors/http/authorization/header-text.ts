import { unreadable } from '../../file/failures.ts'

const maxTokenCharacters = 16 * 1024

/** A token that a header can carry. */
export function requireHeaderText(token: string, label: string): string {
  if (/^[\x21-\x7e]+$/.test(token) && token.length <= maxTokenCharacters) return token
  throw unreadable(`${label} issues a token that no header can carry`, 'check the address, and the server')
}
