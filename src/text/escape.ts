/**
 * What a text from outside may hold and no reader may be given as it is: control characters (the escape of a terminal and U+009B, its
 * other form), controls of the direction of writing, characters without width, tags, fillers, halves of characters, and code points
 * that are no characters.
 */
const hidden = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\p{Noncharacter_Code_Point}]/gv
const plainAscii = /^[\t\n\x20-\x7e]*$/

const nonJoiner = '\u200c'
const joiner = '\u200d'
const variationSelector = /^[\ufe00-\ufe0f\u{e0100}-\u{e01ef}]$/v
/** So much of a text tells whether a sign belongs where it stands. */
const neighbourhood = 8

/**
 * A text from outside as one line of something that people read: what is hidden in it appears as its code, such as `\u202e` or
 * `\u{e0041}`; a line break does too, so that no text makes a line of its own. Doing it twice changes nothing.
 *
 * Names stay readable. Letters of every script stay, also of those that are written from right to left: programs know from the
 * letters how to show them. A joiner or non-joiner stays between two letters of a script whose spelling needs it, and a joiner
 * between the two pictures that it makes one; one variation selector stays behind a picture or an ideograph. Everywhere else,
 * as at the end of a word or between Latin letters, the same signs have no honest use and appear as their codes.
 */
export function escapeText(text: string): string {
  if (plainAscii.test(text) && !/[\t\n]/.test(text)) return text
  return text.replaceAll(hidden, (sign, at: number) => (belongs(sign, text, at) ? sign : codeOf(sign)))
}

/** The same for what consists of several lines. Line breaks and tabs are ours: outside texts in it have gone through `visible`. */
export function escapeLines(text: string): string {
  if (plainAscii.test(text)) return text
  return text.replaceAll(hidden, (sign, at: number) => {
    const isLayout = sign === '\n' || sign === '\t' || (sign === '\r' && text[at + 1] === '\n')
    return isLayout || belongs(sign, text, at) ? sign : codeOf(sign)
  })
}

/** JSON with everything hidden as an escape, without an exception: programs read the same document from it. */
export function escapeJson(json: string): string {
  if (plainAscii.test(json)) return json
  return json.replaceAll(hidden, (sign) => (/[\t\n\r]/.test(sign) ? sign : [...units(sign)].join('')))
}

/** A document for programs, in lines that people can read. */
export function jsonText(document: unknown): string {
  return `${escapeJson(JSON.stringify(document, null, 2))}\n`
}

function belongs(sign: string, text: string, at: number): boolean {
  if (sign !== nonJoiner && sign !== joiner && !variationSelector.test(sign)) return false
  const before = text.slice(Math.max(0, at - neighbourhood), at)
  const after = text.slice(at + sign.length, at + neighbourhood)
  if (sign === nonJoiner) return isWithinWord(before, after)
  if (sign === joiner) return isWithinWord(before, after) || isBetweenPictures(before, after)
  return mayVary(before, after)
}

// The patterns below have sets of characters that take a while to build, and hardly any text needs them: they are made where they are used.

/** Whether a sign stands in a word of a script that is written with joiners and non-joiners: that of Arabic and Persian, and those of India and Sri Lanka. */
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

/** Whether a sign stands behind a picture, an ideograph or what makes a key. */
function mayVary(before: string, after: string): boolean {
  const pictureOnly = /\p{Extended_Pictographic}$/v
  const ideographBefore = /\p{Ideographic}$/v
  const isKeycap = /[0-9#*]$/.test(before) && /^\u20e3/.test(after)
  return isKeycap || pictureOnly.test(before) || ideographBefore.test(before)
}

function codeOf(sign: string): string {
  const code = hexOf(sign.codePointAt(0) ?? 0)
  return sign.length === 1 ? `\\u${code}` : `\\u{${code}}`
}

function* units(sign: string): Generator<string> {
  for (let at = 0; at < sign.length; at += 1) yield `\\u${hexOf(sign.charCodeAt(at))}`
}

function hexOf(code: number): string {
  return code.toString(16).padStart(4, '0')
}
