import { standInFor } from './cassette.ts'

/** A JSON value as `JSON.parse` makes it. */
export type Json = null | boolean | number | string | Json[] | { [name: string]: Json }

const longDate = /^(?:\d{4}-\d{2}-\d{2}.*|\d{1,2}[./-]\d{1,2}[./-]\d{4}|\/Date\(-?\d+.*\)\/)$/
const address = /^[^\s@]+@[^\s@]+$/

/**
 * Replaces what people consist of by stand-ins: equal values by equal ones, so that keys still match. Kept are blanks, booleans, words that
 * the configuration itself names, such as statuses, and the dates of members that it names.
 */
export class Redactor {
  readonly #words: ReadonlySet<string>
  readonly #names: ReadonlySet<string>
  readonly #standIns = new Map<string, string>()

  /** `configuration`: the settings and the mapping of the connection. */
  constructor(configuration: Json) {
    const texts = textsIn(configuration)
    const quoted = texts.flatMap((text) => [...text.matchAll(/["']([^"']+)["']/g)].map(([, word = '']) => word))
    this.#words = new Set([...texts, ...quoted])
    this.#names = new Set(texts.flatMap((text) => text.match(/[\p{L}\p{N}_]+/gu) ?? []))
  }

  /** A value of an answer without the people in it. `name`: the member that holds it. */
  redact(value: Json, name = ''): Json {
    if (Array.isArray(value)) return value.map((member) => this.redact(member, name))
    if (typeof value === 'number') return Number(this.#standIn(String(value), name))
    if (typeof value === 'string') return this.#standIn(value, name)
    if (value === null || typeof value === 'boolean') return value
    return Object.fromEntries(Object.entries(value).map(([member, below]) => [member, this.redact(below, member)]))
  }

  /** The stand-in of a text that was redacted before; the text itself if it was not. */
  known(text: string): string {
    return this.#standIns.get(text) ?? text
  }

  /** A value with the stand-ins of all texts that were redacted before. */
  redactKnown(value: Json): Json {
    if (typeof value === 'string') return this.known(value)
    if (typeof value !== 'object' || value === null) return value
    if (Array.isArray(value)) return value.map((member) => this.redactKnown(member))
    return Object.fromEntries(Object.entries(value).map(([member, below]) => [member, this.redactKnown(below)]))
  }

  #standIn(text: string, name: string): string {
    if (text.trim() === '' || this.#words.has(text)) return text
    if (longDate.test(text)) return this.#names.has(name) ? text : '2000-01-01'
    const standIn = this.#standIns.get(text) ?? this.#invent(text)
    this.#standIns.set(text, standIn)
    return standIn
  }

  #invent(text: string): string {
    const number = this.#standIns.size + 1
    if (/^-?\d+(?:\.\d+)?$/.test(text)) return String(1000 + number)
    return address.test(text) ? `person${number}@example.com` : `text-${number}`
  }
}

/** All texts in a value, and the names of its members, such as those of a map. */
function textsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsIn(member)])
}

/** The text with stand-ins for secrets, in whichever form they stand in it. */
export function withoutSecrets(text: string, secrets: ReadonlyMap<string, string>): string {
  return [...secrets].reduce((rest, [path, secret]) => {
    if (secret === '') return rest
    const forms = [secret, encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]
    return forms.reduce((changed, form) => changed.replaceAll(form, standInFor(path)), rest)
  }, text)
}
