/** Letters that Unicode does not decompose, with the letters that replace them where a keyboard or system lacks them. */
const plainLetters: Readonly<Record<string, string>> = {
  ß: 'ss',
  æ: 'ae',
  œ: 'oe',
  ø: 'o',
  ł: 'l',
  đ: 'd',
  ð: 'd',
  þ: 'th',
  ħ: 'h',
  ŧ: 't',
  ı: 'i',
  ς: 'σ',
}
const umlauts: Readonly<Record<string, string>> = { ä: 'ae', ö: 'oe', ü: 'ue', ø: 'oe', å: 'aa' }
/** Latin accents, and the vowel signs of Hebrew and Arabic, which most texts leave out. */
const marks = /[\u0300-\u036f\u0591-\u05c7\u064b-\u065f\u0670]/g
const plainPattern = new RegExp(`[${Object.keys(plainLetters).join('')}]`, 'g')
const umlautPattern = new RegExp(`[${Object.keys(umlauts).join('')}]`, 'g')
// biome-ignore lint/suspicious/noControlCharactersInRegex: the pattern is that of ASCII.
const ascii = /^[\x00-\x7f]*$/

/** A text as search compares it: `ozturk`, and with the German, Danish and Norwegian spelling `oeztuerk`. Both are the same without umlauts. */
export type FoldedText = { readonly plain: string; readonly german: string }

/**
 * The one rule by which searches compare letters: in any case, without marks (NFKD), and special letters as they are usually replaced.
 * A text of ASCII is only put in lower case, so a database can compare it without this rule.
 */
export function foldLetters(text: string): FoldedText {
  if (ascii.test(text)) {
    const folded = text.toLowerCase()
    return { plain: folded, german: folded }
  }
  const german = text
    .normalize('NFC')
    .toLowerCase()
    .replaceAll(umlautPattern, (letter) => umlauts[letter] ?? letter)
  return { plain: withoutMarks(text), german: withoutMarks(german) }
}

function withoutMarks(text: string): string {
  return text
    .normalize('NFKD')
    .toLowerCase()
    .replaceAll(marks, '')
    .replaceAll(plainPattern, (letter) => plainLetters[letter] ?? letter)
}

/** Whether a text holds another one in either spelling. */
export function holdsFolded(text: FoldedText, part: FoldedText): boolean {
  return text.plain.includes(part.plain) || text.german.includes(part.german)
}

/** The words of a name or of a search for one, folded. */
export function foldedWords(text: string): FoldedText[] {
  return text.split(/[\s,.'’ʼ\u2010-\u2015-]+/).flatMap((word) => (word === '' ? [] : [foldLetters(word)]))
}
