import { escapeText } from '../text/escape.ts'

/** Markup that is safe to send. Only `html` makes it. */
class Markup {
  readonly #text: string

  constructor(text: string) {
    this.#text = text
  }

  toString(): string {
    return this.#text
  }
}

/** Safe markup, made by `html`. */
export type Html = Markup
/** What a template may hold: text is escaped, markup stays, false and null are left out. */
export type Renderable = Html | string | number | null | undefined | false | readonly Renderable[]

const entities: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

/**
 * Markup from a template whose values are escaped, for text and for attributes in quotes. A value as an attribute without quotes, where
 * escaping would not help, is an error.
 */
export function html(literals: TemplateStringsArray, ...values: readonly Renderable[]): Html {
  const parts = literals.map((literal, index) => {
    if (index === values.length) return literal
    if (/\s[\w:-]+\s*=\s*$/.test(literal)) throw new Error(`an attribute value needs quotes: ${literal.trim()}`)
    return literal + shown(values[index])
  })
  return new Markup(parts.join(''))
}

function shown(value: Renderable): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Markup) return value.toString()
  if (typeof value === 'object') return value.map(shown).join('')
  return escapeText(String(value)).replaceAll(/[&<>"']/g, (character) => entities[character] ?? '')
}
