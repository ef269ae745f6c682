import { createHmac, randomBytes } from 'node:crypto'

const address = /[^\s"'<>(),;:]+@[^\s"'<>(),;:]+/gu
// From the first quote to the last: what is quoted may hold quotes itself.
const quoted = /"[^\n]*"/g
const userInfo = /(\b[a-z][a-z0-9+.-]*:\/\/)[^\s/@]*@/gi
const afterPath = /(\bhttps?:\/\/[^\s?#"']+)[?#][^\s"']*/gi

/** Takes out of texts what must not leave the installation. One for each file: the same person has the same name in it, and in no other. */
export type Scrub = {
  /** A text of ours without what it quotes, and without e-mail addresses, parts of addresses that may be secret, and known secrets. */
  text(text: string): string
  /** A name for a key, which nobody can turn back: the key of the digest is forgotten. */
  person(key: string): string
  /** A whole file, for the last time: secrets and e-mail addresses only. */
  file(text: string): string
}

const shortestSecret = 4

/** `places`: folders whose paths may tell who somebody is, by what stands for them. */
export function createScrub(secrets: readonly string[], folders: Readonly<Record<string, string>> = {}): Scrub {
  const key = randomBytes(32)
  const known = secrets.filter((secret) => secret.length >= shortestSecret).sort((a, b) => b.length - a.length)
  const longestFirst = Object.entries(folders).sort(([a], [b]) => b.length - a.length)
  const file = (text: string) => {
    const unplaced = longestFirst.reduce((scrubbed, [path, name]) => scrubbed.replaceAll(path, name), text)
    return known
      .reduce((scrubbed, secret) => scrubbed.replaceAll(secret, '(secret)'), unplaced)
      .replaceAll(address, '(e-mail)')
  }
  return {
    text: (text) => file(text.replaceAll(quoted, '"…"').replaceAll(userInfo, '$1').replaceAll(afterPath, '$1')),
    person: (name) => `person-${createHmac('sha256', key).update(name).digest('hex').slice(0, 12)}`,
    file,
  }
}
