import { invisibleIn } from '../mapping/cells.ts'
import { type Check, column, countRows, indexesOf, type LintScope } from './watch.ts'

const zero = 48
const nine = 57

// The form in which spreadsheets write a long number, or a key such as 5E12.
const scientific = /^\d([.,]\d+)?E[+-]\d{1,3}$/i
// Keys that a spreadsheet would read as such a number.
const likeScientific = /^\d+([.,]\d+)?E\d+$/i

const maxDigits = 20
// If no key is padded with zeros, short keys are suspicious when nearly all keys have the same length, and that length allows at least
// `numbersPerPerson` keys for each person: keys counted up from 1 would be shorter.
const minDigits = 4
const minShareOfOneLength = 0.8
const numbersPerPerson = 1000

const minShareOfRepeated = 0.02

type Example = { readonly key: string; readonly line: number }

/** Finds keys that a spreadsheet has turned into numbers such as 1.23E+05, or would turn into one. */
export function watchScientificKeys({ columns }: LintScope): Check[] {
  const damaged = new Examples()
  const inDanger = new Examples()
  return [
    {
      addRow({ identityId, origin }) {
        if (!mayBeLikeNumber(identityId)) return false
        if (scientific.test(identityId)) damaged.add(identityId, origin.line)
        else if (likeScientific.test(identityId)) inDanger.add(identityId, origin.line)
        return false
      },
      // Rows with such keys, and those of the next check, are always parsed: they have no traits (`Check.traits`).
      traits: { areEnough: () => true },
      finding() {
        if (damaged.first !== null) {
          const { key, line } = damaged.first
          const message =
            `${countRows(damaged.count)}: the key looks like a number in scientific form, such as ${key} in line ${line} (${column(columns.identityId)}); ` +
            'a spreadsheet may have rewritten it: take the export as the HR system made it'
          return { message, line }
        }
        if (inDanger.first === null) return null
        const { key, line } = inDanger.first
        const message =
          `${countRows(inDanger.count)}: a spreadsheet would read the key as a number, such as ${key} in line ${line} (${column(columns.identityId)}); ` +
          'never open and save the export in one'
        return { message, line }
      },
    },
  ]
}

/** Finds keys with invisible characters. The mapping drops them, so that the key still names the right person. */
export function watchInvisibleKeys({ columns, headers }: LintScope): Check[] {
  const indexes = columns.identityId === undefined ? [] : indexesOf(columns.identityId, headers)
  const examples = new Examples()
  return [
    {
      addRow(observation, { values }) {
        const [invisible] = indexes.flatMap((index) => invisibleIn(values[index] ?? ''))
        if (invisible !== undefined) examples.add(invisible, observation.origin.line)
        return false
      },
      traits: { areEnough: () => true },
      finding() {
        if (examples.first === null) return null
        const { key: character, line } = examples.first
        const message =
          `${countRows(examples.count)}: the key holds an invisible character, such as ${character} in line ${line} (${column(columns.identityId)}); ` +
          'it is left out of the key: have HR remove it'
        return { message, line }
      },
    },
  ]
}

/** Finds keys of digits that look as if they had lost leading zeros. */
export function watchShrunkKeys({ columns }: LintScope): Check[] {
  const paddedLengths = new Uint32Array(maxDigits + 1)
  const plain = Array.from({ length: maxDigits + 1 }, () => new Examples())

  return [
    {
      addRow({ identityId, fields: { managerId }, origin }) {
        if (typeof managerId === 'string' && managerId.charCodeAt(0) === zero) countPadded(managerId, paddedLengths)
        if (identityId.charCodeAt(0) === zero) countPadded(identityId, paddedLengths)
        else if (leadingDigits(identityId) === identityId.length) plain[identityId.length]?.add(identityId, origin.line)
        return false
      },
      // The first key of each length serves as an example.
      traits: {
        areEnough: ({ digits, isPadded }) => digits === 0 || isPadded || plain[digits]?.first !== null,
        add({ digits, isPadded, managerDigits }, rows) {
          paddedLengths[managerDigits] = (paddedLengths[managerDigits] ?? 0) + (managerDigits > 0 ? rows : 0)
          if (isPadded) paddedLengths[digits] = (paddedLengths[digits] ?? 0) + rows
          else plain[digits]?.addMore(digits > 0 ? rows : 0)
        },
      },
      finding(people) {
        const padded = paddedLengths.indexOf(Math.max(...paddedLengths, 1))
        const longest = padded > 0 ? padded : lengthOfNearlyAll(plain, people)
        const shorter = plain.slice(0, longest).filter((examples) => examples.first !== null)
        const first = shorter[0]?.first
        if (!first) return null
        const count = shorter.reduce((sum, examples) => sum + examples.count, 0)
        const message =
          `${countRows(count)}: the key has fewer than the ${longest} digits of the others, such as ${first.key} in line ${first.line} (${column(columns.identityId)}); ` +
          'if leading zeros were lost, export the column as text'
        return { message, line: first.line }
      },
    },
  ]
}

/** Finds reports with several rows for a person if the mapping does not say which one applies. */
export function watchSeveralRows({ columns, sampleSize }: LintScope): Check[] {
  const keys = new Set<string>()
  const again = new Examples()
  let rows = 0
  return [
    {
      addRow({ identityId, rank, origin }) {
        rows += 1
        if (keys.has(identityId)) again.add(identityId, origin.line)
        else keys.add(identityId)
        return rank !== undefined || rows >= sampleSize
      },
      // Only rows whose key is in no other row are added by their traits.
      traits: {
        areEnough: () => true,
        addInOrder() {
          rows += 1
          return rows >= sampleSize
        },
      },
      finding() {
        if (again.first === null || again.count < 2 || again.count < minShareOfRepeated * rows) return null
        // The key may be an e-mail address, so it is not shown.
        const { line } = again.first
        const message =
          `${again.count} of ${countRows(rows)} repeat a key (${column(columns.identityId)}), such as line ${line}; ` +
          'have the report hold one row for each person, or say which row applies (severalRows)'
        return { message, line }
      },
    },
  ]
}

/** Counts keys and keeps the first as an example. */
class Examples {
  count = 0
  first: Example | null = null

  add(key: string, line: number): void {
    this.count += 1
    this.first ??= { key, line }
  }

  addMore(times: number): void {
    this.count += times
  }
}

/** Whether the key is a number in scientific form, or a spreadsheet would take it for one. */
export function isLikeNumber(key: string): boolean {
  return mayBeLikeNumber(key) && (scientific.test(key) || likeScientific.test(key))
}

// Runs for every row, before a regular expression does.
function mayBeLikeNumber(key: string): boolean {
  const digits = leadingDigits(key)
  return digits > 0 && digits < key.length
}

/** The length of a key that consists of digits, and whether it begins with a zero; 0 digits for a longer key or any other. */
export function lengthOfDigits(key: string): { readonly digits: number; readonly isPadded: boolean } {
  if (key.length > maxDigits || leadingDigits(key) < key.length) return { digits: 0, isPadded: false }
  const isPadded = key.charCodeAt(0) === zero
  return isPadded && key.length < 2 ? { digits: 0, isPadded: false } : { digits: key.length, isPadded }
}

// Runs for every row. A regular expression would cost three times as much.
function leadingDigits(key: string): number {
  let digits = 0
  while (digits < key.length) {
    const code = key.charCodeAt(digits)
    if (code < zero || code > nine) break
    digits += 1
  }
  return digits
}

function countPadded(key: string, lengths: Uint32Array): void {
  if (key.length < 2 || key.length > maxDigits || leadingDigits(key) < key.length) return
  lengths[key.length] = (lengths[key.length] ?? 0) + 1
}

/** The length of nearly all keys, if they are numbers that nobody counted up from 1; otherwise 0. */
function lengthOfNearlyAll(plain: readonly Examples[], people: number): number {
  const length = plain.findLastIndex(({ first }) => first !== null)
  const most = plain[length]?.count ?? 0
  const isCountedUp = people * numbersPerPerson > 10 ** length
  return length < minDigits || isCountedUp || most < minShareOfOneLength * people ? 0 : length
}
