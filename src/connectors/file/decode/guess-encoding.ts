import iconv from 'iconv-lite'

/** One possible encoding of a text that is not UTF-8. */
export type EncodingGuess = {
  readonly encoding: string
  /** Words that differ in other encodings. */
  readonly words: readonly string[]
  /** The letters that differ. They contain no personal data. */
  readonly letters: string
}

/** Maximum number of lines beyond ASCII that are examined. */
const maxLines = 5000
const maxWords = 3
const maxLetters = 8
/** Points are evidence against a decoding. One with this many more points than the best is wrong. */
const refutingPoints = 3
const pointsOfImpossibleWord = 3
/** If a larger share of words is unexplained in the best decoding, the text is in none of these encodings. */
const maxUnexplainedShare = 0.2
/** A language decides if it explains nearly all of at least this many differing words, and no language explains those of another decoding. */
const minWordsOfLanguage = 5
const minShareOfLanguage = 0.9
/** In a mixture of languages, one explains at least this share; what no language explains is no text. */
const minShareInMixture = 0.3
const maxShareOfRival = 0.5

const german = 'äöüß'
const western = [
  german,
  'àâæçèéêëîïôœùûüÿ', // French
  'áéíñóúü', // Spanish
  'áàâãçéêíóôõúü', // Portuguese
  'àèéìîòóù', // Italian
  'àçèéíïòóúü', // Catalan
  'áèéëíïóöúü', // Dutch
  'æøåéö', // Danish and Norwegian
  'åäöéü', // Swedish and Finnish
  'áéíóúýðþæö', // Icelandic
  'äõöüšž', // Estonian
]
const central = [
  german,
  'ąćęłńóśźż', // Polish
  'áčďéěíňóřšťúůýž', // Czech
  'áäčďéíľňóôšťúýž', // Slovak, without the rare ĺ and ŕ, which å and à are misread as
  'áéíóöőúüű', // Hungarian
  'čćđšž', // Croatian, Slovene
  'ăâîşţ', // Romanian
]
const baltic = [german, 'ąčęėįšųūž', 'āčēģīķļņšūž', 'äõöüšž']
const cyrillic = [
  'абвгдеёжзийклмнопрстуфхцчшщъыьэюя', // Russian and Bulgarian
  'абвгґдеєжзиіїйклмнопрстуфхцчшщьюя', // Ukrainian
  'абвгдеёжзійклмнопрстуўфхцчшыьэюя', // Belarusian
  'абвгдђежзијклљмнњопрстћуфхцчџш', // Serbian
  'абвгдѓежзѕијклљмнњопрстќуфхцчџш', // Macedonian
]

/** By encoding, the letters beyond ASCII of each language that is written in it. The first one wins if several read the same text. */
const candidates: Readonly<Record<string, readonly RegExp[]>> = {
  'windows-1252': western.map(alphabet),
  'iso-8859-15': western.map(alphabet),
  'windows-1250': central.map(alphabet),
  'iso-8859-2': central.map(alphabet),
  'windows-1251': cyrillic.map(alphabet),
  'windows-1253': [alphabet('αβγδεζηθικλμνξοπρσςτυφχψωάέήίόύώϊϋ')],
  'windows-1254': [german, 'çğıöşüâî\u0307'].map(alphabet),
  'windows-1255': [alphabet('אבגדהוזחטיךכלםמןנסעףפץצקרשת')],
  'windows-1257': baltic.map(alphabet),
  macintosh: western.map(alphabet),
  cp850: western.map(alphabet),
  // Without half-width katakana: text in other Asian encodings decodes to them.
  shift_jis: [/^[\p{sc=Han}\p{sc=Hiragana}\u30A0-\u30FF々]+$/u],
}

const beyondAscii = /[^\n\r]*[\u0080-\u00FF][^\n\r]*/g
const undecodable = /[\uFFFD\u0080-\u009F\uE000-\uF8FF]/
/** Words: what is between ASCII punctuation, blanks, dashes, apostrophes and East Asian punctuation. */
const wordsOf = /(?:[A-Za-z0-9]|[^\p{ASCII}\p{Z}’–\u3000-\u3004\u30FB\uFF00-\uFF20])+/gu
const letterBeyondAscii = /(?!\p{ASCII})[\p{L}\p{M}]/gu
const scripts = [
  /\p{sc=Latin}/u,
  /\p{sc=Cyrillic}/u,
  /\p{sc=Greek}/u,
  /\p{sc=Hebrew}/u,
  /[\p{sc=Han}\p{sc=Kana}\p{sc=Hira}]/u,
]
const capitalInside = /\p{Ll}(?![A-Z])\p{Lu}|(?!\p{ASCII})(?:\p{Ll}[A-Z]|\p{Lu}[A-Z]\p{Ll})/u
/** A misread character: no word consists of such a letter. */
const loneLetter = /^(?![A-Za-zàáéèóäöüß])(?=\p{Ll})\p{sc=Latin}$/u
/** Punctuation that is common beside a word. Any other, or one within a word, is a misread letter. */
const signs = '„“”‚‘«»‹›€£©®™°§•·—…¿¡½²'
const misread = new RegExp(`[^\\p{ASCII}\\p{L}\\p{M}\\p{Nd}${signs}]|\\p{L}[${signs}]+\\p{L}|\\p{L}[ªº]`, 'u')

/**
 * The possible encodings of a text that is not UTF-8. `bytes` holds whole lines. One guess is certain; of several a person has to
 * choose; none means another encoding.
 */
export function guessEncoding(bytes: Buffer): readonly EncodingGuess[] {
  const decodings = plausibleDecodings(Buffer.from(linesBeyondAscii(bytes), 'latin1')).map((decoding, _index, all) => {
    const differing = decoding.words.filter((word) => !all.every(({ words }) => words.includes(word)))
    return { ...decoding, differing, share: shareOfLanguage(decoding, [decoding.words, differing]) }
  })
  const certain = decodings.find(
    (decoding) =>
      decoding.differing.length >= minWordsOfLanguage &&
      decoding.share >= minShareOfLanguage &&
      decodings.every((other) => other === decoding || other.share <= maxShareOfRival),
  )
  return (certain === undefined ? decodings : [certain]).map(({ encoding, differing }) => ({
    encoding,
    words: differing.slice(0, maxWords),
    letters: [...new Set(lettersOf(differing.join('')))].slice(0, maxLetters).join(''),
  }))
}

type DecodedText = {
  readonly encoding: string
  readonly text: string
  /** Each word that has letters beyond ASCII, once. */
  readonly words: readonly string[]
  readonly alphabets: readonly RegExp[]
  /** The number of words that are impossible, or in no language of the encoding. */
  readonly unexplained: number
  /** The evidence against this decoding. */
  readonly points: number
}

/** The decodings that no evidence refutes, one for each different text. */
function plausibleDecodings(lines: Buffer): readonly DecodedText[] {
  const possible = Object.entries(candidates).flatMap(([encoding, alphabets]) => {
    const text = iconv.decode(lines, encoding)
    return undecodable.test(text) ? [] : [decodingOf(encoding, text, alphabets)]
  })
  const best = Math.min(...possible.map(({ points }) => points))
  return possible
    .filter(({ points }) => points < best + refutingPoints)
    .filter(({ unexplained, words }) => unexplained <= words.length * maxUnexplainedShare)
    .filter((decoding) => shareOfLanguage(decoding, [decoding.words]) >= minShareInMixture)
    .filter(({ text }, index, all) => all.findIndex((other) => other.text === text) === index)
}

function alphabet(letters: string): RegExp {
  return new RegExp(`^[${letters}]+$`)
}

function linesBeyondAscii(bytes: Buffer): string {
  const lines = new Set<string>()
  for (const [line] of bytes.toString('latin1').matchAll(beyondAscii)) {
    lines.add(line)
    if (lines.size === maxLines) break
  }
  return [...lines].join('\n')
}

function decodingOf(encoding: string, text: string, alphabets: readonly RegExp[]): DecodedText {
  const all = [...new Set(text.match(wordsOf))]
  const words = all.filter((word) => lettersOf(word) !== '' || misread.test(word))
  const impossible = words.filter(isImpossible)
  const inNoLanguage = words.filter((word) => !isImpossible(word) && !alphabets.some((one) => isIn(word, one)))
  const points = impossible.length * pointsOfImpossibleWord + inNoLanguage.length
  return { encoding, text, words, alphabets, unexplained: impossible.length + inNoLanguage.length, points }
}

function isImpossible(word: string): boolean {
  return (
    capitalInside.test(word) ||
    loneLetter.test(word) ||
    misread.test(word) ||
    scripts.filter((script) => script.test(word)).length > 1
  )
}

function isIn(word: string, language: RegExp): boolean {
  return language.test(lettersOf(word.toLowerCase()))
}

/** The letters of a word beyond ASCII. */
function lettersOf(word: string): string {
  return (word.match(letterBeyondAscii) ?? []).join('')
}

/** The largest share of every list that one language explains. */
function shareOfLanguage({ alphabets }: DecodedText, lists: readonly (readonly string[])[]): number {
  const shares = (language: RegExp) => lists.map((words) => shareOf(words, language))
  return Math.max(...alphabets.map((language) => Math.min(...shares(language))))
}

function shareOf(words: readonly string[], language: RegExp): number {
  return words.length === 0 ? 1 : words.filter((word) => isIn(word, language)).length / words.length
}
