import { createHmac, randomBytes } from 'node:crypto'

const address = /[^\s"'<>(),;:]+@[^\s"'<>(),;:]+/gu
// From the first quote to the last: a quoted text may hold quotes itself.
const quoted = /"[^\n]*"/g
const userInfo = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi
const afterPath = /(\bhttps?:\/\/[^\s?#"']+)[?#][^\s"']*/gi

/**
 * Removes from texts what must not leave the installation. Use one for each file: a person has the same pseudonym within a file, and in no
 * other.
 */
export type Scrub = {
  /** A message of Rollcall without quoted texts, e-mail addresses, possibly secret parts of URLs, and known secrets. */
  text(text: string): string
  /** A pseudonym for a key, which nobody can reverse: the key of the digest is not kept. */
  person(key: string): string
  /** The last pass over a whole file: secrets and e-mail addresses only. */
  file(text: string): string
}

const minSecretLength = 4

/** `folders`: folders whose paths may reveal a person's name, with their replacements. */
export function createScrub(secrets: readonly string[], folders: Readonly<Record<string, string>> = {}): Scrub {
  const key = randomBytes(32)
  const known = secrets.filter((secret) => secret.length >= minSecretLength).sort((a, b) => b.length - a.length)
  const longestFirst = Object.entries(folders).sort(([a], [b]) => b.length - a.length)
  const file = (text: string) => {
    const withoutFolders = longestFirst.reduce((scrubbed, [path, name]) => scrubbed.replaceAll(path, name), text)
    return known
      .reduce((scrubbed, secret) => scrubbed.replaceAll(secret, '(secret)'), withoutFolders)
      .replaceAll(address, '(e-mail)')
  }
  return {
    text: (text) => file(text.replaceAll(quoted, '"…"').replaceAll(userInfo, '$1').replaceAll(afterPath, '$1')),
    person: (name) => `person-${createHmac('sha256', key).update(name).digest('hex').slice(0, 12)}`,
    file,
  }
}
