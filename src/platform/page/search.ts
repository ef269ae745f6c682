const mostWords = 8
const longestWord = 100
const accents = /[\u0300-\u036f]/g

/**
 * What is typed, as an expression over the words that `search_words` makes: everybody who has, for each word typed, one that begins
 * with it. Null where nothing can be found. Some databases know lower case of plain letters only, so each word is tried in three spellings.
 */
export function searchExpression(typed: string): string | null {
  if (!typed.isWellFormed() || typed.includes('\0')) return null
  const words = typed
    .normalize('NFD')
    .replaceAll(accents, '')
    .split(/\s+/u)
    .filter((word) => word !== '')
    .slice(0, mostWords)
  return words.length === 0 ? null : words.map(beginning).join(' & ')
}

function beginning(word: string): string {
  const characters = [...word].slice(0, longestWord)
  const lower = characters.join('').toLowerCase()
  const [first = '', ...rest] = [...lower]
  const spellings = new Set([lower, lower.toUpperCase(), first.toUpperCase() + rest.join('')])
  return `(${[...spellings].map((spelling) => `${quoted(spelling)}:*`).join(' | ')})`
}

function quoted(lexeme: string): string {
  return `'${lexeme.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`
}
