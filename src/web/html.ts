import { escapeText, replaceHidden } from '../text/escape.ts'

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
 * escaping would not help, is an error. The attribute `value` is sent back by forms: see `sentText`.
 */
export function html(literals: TemplateStringsArray, ...values: readonly Renderable[]): Html {
  const parts = literals.map((literal, index) => {
    if (index === values.length) return literal
    if (/\s[\w:-]+\s*=\s*$/.test(literal)) throw new Error(`an attribute value needs quotes: ${literal.trim()}`)
    return literal + written(values[index], /\svalue="$/.test(literal) ? withReferences : escapeText)
  })
  return new Markup(parts.join(''))
}

/**
 * Lines of text that a form sends back, such as the content of a `textarea`. Hidden characters become references, from which browsers read
 * the same text: with a code in their place, another text would come back.
 */
export function sentText(text: string): Html {
  return new Markup(
    text
      .split(/\r?\n/)
      .map((line) => written(line, withReferences))
      .join('\n'),
  )
}

/** Browsers read other characters from references to U+0080 to U+009F, so those stay as they are. */
function withReferences(text: string): string {
  return replaceHidden(text, (char) =>
    /[\u0080-\u009f]/.test(char) ? char : `&#x${(char.codePointAt(0) ?? 0).toString(16)};`,
  )
}

/** `escapeHidden`: escapes the hidden characters of a text without markup. */
function written(value: Renderable, escapeHidden: (text: string) => string): string {
  if (value === null || value === undefined || value === false) return ''
  if (value instanceof Markup) return value.toString()
  if (typeof value === 'object') return value.map((one) => written(one, escapeHidden)).join('')
  return escapeHidden(String(value).replaceAll(/[&<>"']/g, (character) => entities[character] ?? ''))
}
