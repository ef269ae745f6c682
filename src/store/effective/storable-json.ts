/** Maximum length of a text from the platform or a directory. */
const maxTextLength = 1000

/** JSON that PostgreSQL stores: its texts have no NUL, no half a character, and no more than a thousand characters. */
export function storableJson(value: unknown): string {
  return JSON.stringify(value, (_name, part) => (typeof part === 'string' ? storableText(part) : part))
}

function storableText(text: string): string {
  return text.slice(0, maxTextLength).replaceAll('\0', '\uFFFD').toWellFormed()
}
