import { isStorableText } from './storable-json.ts'

const maxSearchWords = 8
const maxWordLength = 100
const accents = /[\u0300-\u036f]/g

/**
 * The tsquery of a search text: a person matches if each word of the text begins one of the words of `search_words`. Null if nothing can
 * match.
 */
export function searchExpression(text: string): string | null {
  if (!isStorableText(text)) return null
  const words = text
    .normalize('NFD')
    .replaceAll(accents, '')
    .split(/\s+/u)
    .filter((word) => word !== '')
    .slice(0, maxSearchWords)
  return words.length === 0 ? null : words.map(prefixTerm).join(' & ')
}

function prefixTerm(word: string): string {
  const lexeme = [...word].slice(0, maxWordLength).join('')
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}':*`
}
