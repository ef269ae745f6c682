/**
 * Characters of a text from outside that no reader may get unescaped: control characters (ESC and U+009B, which start terminal sequences),
 * bidirectional controls, characters without width, tags, fillers, lone surrogates and noncharacters.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gv
const plainAscii = /^[\t\n\x20-\x7e]*$/

const nonJoiner = '\u200c'
const joiner = '\u200d'
const variationSelector = /^[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]$/v
/** How many code units on each side decide whether a joiner or a variation selector is legitimate. */
const contextLength = 8

/**
 * A text from outside as part of one line for people: hidden characters and line breaks become their codes, such as `\u202e` or
 * `\u{e0041}`. Escaping twice changes nothing.
 *
 * Names stay readable: letters of every script stay, also of scripts written from right to left. A joiner or non-joiner stays between two
 * letters of a script whose spelling needs it, a joiner between two pictures that it combines, and one variation selector after a picture
 * or an ideograph. Everywhere else these characters have no legitimate use and are escaped.
 */
export function escapeText(text: string): string {
  return replaceHidden(text, codeOf)
}

/** Replaces the characters that `escapeText` escapes. `replace` returns the replacement of one. */
export function replaceHidden(text: string, replace: (char: string) => string): string {
  if (plainAscii.test(text) && !/[\t\n]/.test(text)) return text
  return text.replaceAll(hidden, (char, at: number) => (isLegitimate(char, text, at) ? char : replace(char)))
}

/**
 * A name from outside without what `escapeText` would escape: blanks and line ends become one space, other hidden characters are left out.
 */
export function plainName(text: string): string {
  const line = text.replaceAll(/\s+/gu, ' ').trim()
  return replaceHidden(line, () => '')
}

/** Like `escapeText` for several lines of our own: line breaks and tabs stay. Texts from outside in it must already be escaped. */
export function escapeLines(text: string): string {
  if (plainAscii.test(text)) return text
  return text.replaceAll(hidden, (char, at: number) => {
    const isLayout = char === '\n' || char === '\t' || (char === '\r' && text[at + 1] === '\n')
    return isLayout || isLegitimate(char, text, at) ? char : codeOf(char)
  })
}

/** JSON with all hidden characters escaped. Programs read the same document from it. */
export function escapeJson(json: string): string {
  if (plainAscii.test(json)) return json
  return json.replaceAll(hidden, (char) => (/[\t\n\r]/.test(char) ? char : [...codeUnitEscapes(char)].join('')))
}

/** A document as indented JSON with a final line break. */
export function jsonText(document: unknown): string {
  return `${escapeJson(JSON.stringify(document, null, 2))}\n`
}

function isLegitimate(char: string, text: string, at: number): boolean {
  if (char !== nonJoiner && char !== joiner && !variationSelector.test(char)) return false
  const before = text.slice(Math.max(0, at - contextLength), at)
  const after = text.slice(at + char.length, at + contextLength)
  if (char === nonJoiner) return isWithinWord(before, after)
  if (char === joiner) return isWithinWord(before, after) || isBetweenPictures(before, after)
  return canVary(before, after)
}

// Few texts need the patterns below, and their character sets are slow to compile: they are compiled when first needed.

/** Whether a character is inside a word of a script that uses joiners: Arabic, and the scripts of India and Sri Lanka. */
function isWithinWord(before: string, after: string): boolean {
  const letterBefore =
    /[[\p{L}\p{M}]&&[\p{scx=Arab}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}]]$/v
  const letterAfter =
    /^[\p{L}&&[\p{scx=Arab}\p{scx=Deva}\p{scx=Beng}\p{scx=Guru}\p{scx=Gujr}\p{scx=Orya}\p{scx=Taml}\p{scx=Telu}\p{scx=Knda}\p{scx=Mlym}\p{scx=Sinh}]]/v
  return letterBefore.test(before) && letterAfter.test(after)
}

function isBetweenPictures(before: string, after: string): boolean {
  const pictureBefore = /\p{Extended_Pictographic}\p{Emoji_Modifier}?\ufe0f?$/v
  const pictureAfter = /^\p{Extended_Pictographic}/v
  return pictureBefore.test(before) && pictureAfter.test(after)
}

/** Whether the text before it ends in a picture or an ideograph, or the character is part of a keycap. */
function canVary(before: string, after: string): boolean {
  const pictureOnly = /\p{Extended_Pictographic}$/v
  const ideographBefore = /\p{Ideographic}$/v
  const isKeycap = /[0-9#*]$/.test(before) && /^\u20e3/.test(after)
  return isKeycap || pictureOnly.test(before) || ideographBefore.test(before)
}

function codeOf(char: string): string {
  const code = hexOf(char.codePointAt(0) ?? 0)
  return char.length === 1 ? `\\u${code}` : `\\u{${code}}`
}

function* codeUnitEscapes(char: string): Generator<string> {
  for (let at = 0; at < char.length; at += 1) yield `\\u${hexOf(char.charCodeAt(at))}`
}

function hexOf(code: number): string {
  return code.toString(16).padStart(4, '0')
}
