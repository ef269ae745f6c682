const maxCharacters = 80

/** Quotes a line for a message: shortened, and without control characters. Only for lines that hold no personal data, such as a title. */
export function quoted(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  const characters = [...line]
  return `"${characters.length <= maxCharacters ? line : `${characters.slice(0, maxCharacters).join('')}…`}"`
}
