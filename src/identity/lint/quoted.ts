const mostCharacters = 80

/** A line that holds nothing personal, such as a title, in a message: cut off where it is long, and without control characters. */
export function quoted(text: string): string {
  const line = text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()
  const characters = [...line]
  return `"${characters.length <= mostCharacters ? line : `${characters.slice(0, mostCharacters).join('')}…`}"`
}
