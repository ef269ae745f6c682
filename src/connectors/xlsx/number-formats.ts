/** How the value of a number cell becomes text. */
export type NumberFormat =
  /** The number itself. */
  | { readonly kind: 'plain' }
  /** A whole number with the zeros and signs of its format, such as 00123. */
  | { readonly kind: 'digits'; readonly pieces: readonly Piece[]; readonly hasOwnZero: boolean }
  | { readonly kind: 'date' | 'dateTime' | 'time' }

/** A place for a digit, or text that the format adds. */
type Piece = { readonly digit: '0' | '#' | '?' } | { readonly literal: string }

const plain: NumberFormat = { kind: 'plain' }
const date: NumberFormat = { kind: 'date' }
const time: NumberFormat = { kind: 'time' }
const dateTime: NumberFormat = { kind: 'dateTime' }

/** What a format code consists of. Text in quotes, after a backslash, and for padding means nothing to dates. */
const tokens =
  /"(?<quoted>[^"]*)"?|\\(?<escaped>.)|[_*].|\[(?<bracket>[^\]]*)\]?|(?<general>General)|(?<halfDay>AM\/PM|A\/P)|(?<other>.)/gisu

/** The format of an index that the standard defines. Those from 27 to 58 are dates in East Asian editions. */
export function builtInFormat(id: number): NumberFormat {
  if ((id >= 14 && id <= 17) || (id >= 27 && id <= 31) || (id >= 34 && id <= 36) || (id >= 50 && id <= 58)) return date
  if (id === 22) return dateTime
  if ((id >= 18 && id <= 21) || id === 32 || id === 33 || id === 45 || id === 47) return time
  return plain
}

/** The format of a code such as `00000` or `dd.mm.yyyy`. Some writers translate the word General. */
export function parseNumberFormat(code: string): NumberFormat {
  const { sections, hasCondition } = split(code)
  // In front of others, a section such as `[=0]""` only hides a value.
  const shown = hasCondition
    ? sections.find(({ letters, pieces }) => letters !== '' || pieces.some(isPlace))
    : undefined
  const first = shown ?? sections[0]
  if (!first || first.isElapsed || /^standard$/i.test(code)) return plain
  if (first.letters !== '') return dateFormat(first.letters)
  // With one place for a zero the code adds a unit or separates thousands, and is no form of a key.
  const placesDigits = first.pieces.filter((piece) => isPlace(piece) && piece.digit === '0').length > 1
  if (first.isOther || hasCondition || !placesDigits) return plain
  return { kind: 'digits', pieces: first.pieces.filter(isNoSeparator), hasOwnZero: sections.length > 2 }
}

function isPlace(piece: Piece): piece is Extract<Piece, { digit: string }> {
  return 'digit' in piece
}

/** Whether a piece is no blank that sets thousands apart. */
function isNoSeparator(piece: Piece, index: number, pieces: readonly Piece[]): boolean {
  const before = pieces[index - 1]
  return isPlace(piece) || !/^\s$/.test(piece.literal) || !before || !isPlace(before) || before.digit !== '#'
}

/** A whole number, given as its digits, in a format of digits. */
export function formatDigits(digits: string, pieces: readonly Piece[]): string {
  const parts: string[] = []
  let rest = digits === '0' ? '' : digits
  let placesLeft = pieces.filter((piece) => 'digit' in piece).length
  for (const piece of pieces.toReversed()) {
    if ('literal' in piece) {
      parts.unshift(piece.literal)
      continue
    }
    placesLeft -= 1
    const shown = placesLeft === 0 ? rest : rest.slice(-1)
    rest = rest.slice(0, -1)
    parts.unshift(shown !== '' ? shown : piece.digit === '#' ? '' : piece.digit === '0' ? '0' : ' ')
  }
  return parts.join('').trim()
}

/**
 * A section of a code. `letters`: those of a date, in lower case. `isElapsed`: hours that run on beyond a day, which are a number and no
 * time of day. `isOther`: it does more than placing digits.
 */
type Section = { letters: string; readonly pieces: Piece[]; hasZero: boolean; isElapsed: boolean; isOther: boolean }

function split(code: string): { readonly sections: readonly Section[]; readonly hasCondition: boolean } {
  const newSection = (): Section => ({ letters: '', pieces: [], hasZero: false, isElapsed: false, isOther: false })
  let section = newSection()
  const sections = [section]
  let hasCondition = false
  const addLiteral = (literal: string) => section.pieces.push({ literal })
  for (const { groups = {} } of code.matchAll(tokens)) {
    const { quoted, escaped, bracket, general, halfDay, other } = groups
    if (quoted !== undefined || escaped !== undefined) addLiteral(quoted ?? escaped ?? '')
    else if (bracket !== undefined) {
      const [, currency] = /^\$([^-]*)/.exec(bracket) ?? []
      if (currency) addLiteral(currency)
      if (/^[<>=]/.test(bracket)) hasCondition = true
      if (/^(?:h+|m+|s+)$/i.test(bracket)) section.isElapsed = true
    } else if (general !== undefined) section.isOther = true
    else if (halfDay !== undefined) section.letters += 'h'
    else if (other === ';') {
      section = newSection()
      sections.push(section)
    } else if (other !== undefined) addOther(section, other)
  }
  return { sections, hasCondition }
}

function addOther(section: Section, sign: string): void {
  section.hasZero ||= sign === '0'
  // Every place to the right of a zero shows one too.
  if (sign === '0' || sign === '#' || sign === '?') section.pieces.push({ digit: section.hasZero ? '0' : sign })
  else if (/[ymdhs]/i.test(sign)) section.letters += sign.toLowerCase()
  else if (/[-+ ():$]/.test(sign)) section.pieces.push({ literal: sign })
  else section.isOther = true
}

function dateFormat(letters: string): NumberFormat {
  // An m beside hours or seconds means minutes.
  const hasTime = /[hs]/.test(letters)
  const hasDay = /[yd]/.test(letters) || !hasTime
  if (!hasTime) return date
  return hasDay ? dateTime : time
}
