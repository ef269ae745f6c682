/** What a cause means to the people who keep the records in HR. */
type CauseTexts = {
  /** What is wrong, as the end of a sentence such as "705 cells in Termination Date: …". */
  readonly problem: string
  /** What to write instead. `expected`: what the column takes, such as a date format or a list; empty where it is not known. */
  readonly remedy: (expected: string) => string
  /** Whether the reason of the fault says more than `problem`, in words that HR understands. */
  readonly isDetailed?: true
}

/**
 * Every cause for which a row or a cell cannot be used, in the words of those who correct it. A reject names its cause, so that a new
 * kind of fault cannot be without a remedy.
 */
export const causes = {
  blank: { problem: 'the cell is empty', remedy: () => 'Enter the missing value.' },
  damagedCharacter: {
    problem: 'the cell holds a damaged character',
    remedy: () => 'Delete the value and type it again; do not paste it.',
  },
  controlCharacter: {
    problem: 'the cell holds a character that cannot be seen, such as a line break',
    remedy: () => 'Delete the value and type it again on one line.',
  },
  invisible: {
    problem: 'the cell looks empty, but holds characters that cannot be seen',
    remedy: () => 'Delete what the cell holds and type the value again.',
  },
  tooLong: { problem: 'the value is too long', remedy: (expected) => `Shorten it to at most ${expected} characters.` },
  noEmail: {
    problem: 'the cell holds no e-mail address',
    remedy: () => 'Write one address such as name@example.com, without other words, or correct the one that is there.',
  },
  unlistedStatus: {
    problem: 'the status is not known to Rollcall',
    remedy: (expected) =>
      `Write one of: ${expected}. If the status is a new one, tell whoever runs Rollcall whether it means employed or left.`,
  },
  unlistedAction: {
    problem: 'the action is not known to Rollcall',
    remedy: (expected) => `Write one of: ${expected}.`,
  },
  unlistedValue: {
    problem: 'the value is not known to Rollcall',
    remedy: (expected) =>
      `Write one of: ${expected}. If the value is a new one, tell whoever runs Rollcall what it means.`,
  },
  placeholderDate: {
    problem: 'the cell holds a placeholder instead of a date',
    remedy: (expected) => `Leave the cell empty where there is no date; otherwise write the date as ${expected}.`,
  },
  otherDateFormat: {
    problem: 'the date is not written as in the rest of the column',
    remedy: (expected) => `Write the date as ${expected}.`,
  },
  impossibleDate: {
    problem: 'the calendar has no such day',
    remedy: (expected) => `Write a day that exists, as ${expected}.`,
  },
  dateNumber: {
    problem: 'the cell holds a number instead of a date',
    remedy: (expected) => `Format the column as dates and export it again, so that it reads ${expected}.`,
  },
  noDate: {
    problem: 'the cell holds no date',
    remedy: (expected) => `Write the date as ${expected}, or leave the cell empty where there is none.`,
  },
  noNumber: { problem: 'the cell holds no number', remedy: (expected) => `Write only a number, ${expected}.` },
  noWholeNumber: { problem: 'the cell holds no whole number', remedy: () => 'Write a whole number, such as 12.' },
  numberTooLarge: { problem: 'the number is too large', remedy: () => 'Check the number: it has too many digits.' },
  neitherYesNorNo: { problem: 'the cell holds neither yes nor no', remedy: () => 'Write yes or no.' },
  noTimeZone: {
    problem: 'the cell holds no time zone',
    remedy: () => 'Write a time zone such as Europe/Berlin, or leave the cell empty.',
  },
  unknownOrder: {
    problem: 'it is not known which row of the person is the newest',
    remedy: () => 'Enter in this column from when the row applies, as in the other rows of the person.',
  },
  noAction: { problem: 'the row does not say what it is about', remedy: () => 'Enter what the row is about.' },
  damagedCell: {
    isDetailed: true,
    problem: 'the cell cannot be read',
    remedy: () => 'Replace the error, the formula or the list in the cell by its value as plain text.',
  },
  damagedRow: {
    isDetailed: true,
    problem: 'the row cannot be read',
    remedy: () =>
      'Compare the row with its neighbours: it may have too many or too few cells, or a broken quote. Write it again.',
  },
  missingDetail: {
    isDetailed: true,
    problem: 'a part of the record is missing',
    remedy: () => 'Complete the record of the person in the HR system, so that it has this part.',
  },
  scope: {
    problem: 'it is not clear whether the row belongs in the list',
    remedy: () => 'Complete the row like its neighbours, or ask whoever runs Rollcall which columns decide this.',
  },
  schema: {
    isDetailed: true,
    problem: 'the value does not follow the rules of the record',
    remedy: () => 'Correct the value as the details say.',
  },
  later: {
    problem: 'the row takes effect on a later day',
    remedy: () => 'Nothing has to be corrected if the day is right; otherwise correct the day.',
  },
  repeatedKey: {
    isDetailed: true,
    problem: 'the key stands in more than one row',
    remedy: () => 'Keep one row for the person, or give each person a key of their own.',
  },
  twoKeys: {
    isDetailed: true,
    problem: 'one person stands in the list under two keys',
    remedy: () => 'Keep the row with the current key and remove the other one.',
  },
  contradiction: {
    isDetailed: true,
    problem: 'the status says employed, and the leaving date is over',
    remedy: () => 'If the person has left, change the status; if the person stays, remove or correct the leaving date.',
  },
} as const satisfies Record<string, CauseTexts>

/** The code of a cause. */
export type Cause = keyof typeof causes

/** Why a cell or row cannot be used, for HR. */
export type CauseFault = {
  readonly cause: Cause
  /** What the column takes, from the configuration: never a personal value. Left out where the remedy does not need it. */
  readonly expected?: string
}

/** A cause that a store of an earlier version does not have. */
const unknown: CauseTexts = {
  isDetailed: true,
  problem: 'the row or the cell cannot be used',
  remedy: () => 'Correct it as the details say.',
}

/** What is wrong and what to write instead, each as one sentence or its end. */
type FaultTexts = Pick<CauseTexts, 'problem' | 'isDetailed'> & { readonly remedy: string }

/** The texts of a fault for HR. `cause` null: an earlier version recorded the fault without one. */
export function faultTexts(fault: { readonly cause: string | null; readonly expected: string | null }): FaultTexts {
  const { cause, expected } = fault
  const texts: CauseTexts = cause !== null && Object.hasOwn(causes, cause) ? causes[cause as Cause] : unknown
  return { ...texts, remedy: texts.remedy(expected ?? 'in the rest of the column') }
}

/** What a fault of an event is about, in place of the words for rows of an export. */
const wordsOfEvents: readonly (readonly [RegExp, string])[] = [
  [/\bin the rest of the column\b/g, 'in other events'],
  [/\bthe rest of the column\b/g, 'other events'],
  [/\bcell\b/g, 'field'],
  [/\brow\b/g, 'event'],
]

/** The texts of a fault of an event, which has fields instead of cells. */
export function eventFaultTexts(fault: Parameters<typeof faultTexts>[0]): FaultTexts {
  // What the column takes is of the configuration, and stays as it is.
  const { problem, remedy, ...texts } = faultTexts({ ...fault, expected: placeholder })
  const expected = fault.expected ?? 'in other events'
  return { ...texts, problem: inEvents(problem), remedy: inEvents(remedy).replaceAll(placeholder, () => expected) }
}

const placeholder = '\u0000'

function inEvents(text: string): string {
  return wordsOfEvents.reduce((words, [pattern, word]) => words.replace(pattern, word), text)
}

/** Maximum length of a stored cell, in UTF-16 units. */
const maxCellUnits = 200
const controlCharacters = /\p{Cc}/gu

/** A cell as HR wrote it, in a form that every store takes: control characters become visible signs, and a long text is cut. */
export function storedCell(text: string): string {
  const cut = text.length > maxCellUnits ? `${text.slice(0, maxCellUnits)}…` : text
  return cut.toWellFormed().replaceAll(controlCharacters, pictureOf)
}

/** The picture that Unicode has for a control character, such as U+2400 for U+0000. */
function pictureOf(character: string): string {
  const code = character.codePointAt(0) ?? 0
  if (code === 0x7f) return '\u2421'
  return code < 0x20 ? String.fromCodePoint(0x2400 + code) : '\ufffd'
}

const plainFormat = /^[yMd./, -]+$/

/** Date formats as the people who write the dates read them, with an example where one is easy to make. */
export function datesAs(formats: readonly string[]): string {
  return formats.map(dateAs).join(' or ')
}

function dateAs(format: string): string {
  if (format === 'iso') return '2026-10-31 (year-month-day)'
  if (!plainFormat.test(format) || /MMM/.test(format)) return format
  const example = format
    .replace(/y+/, (year) => (year.length > 2 ? '2026' : '26'))
    .replace(/M+/, '10')
    .replace(/d+/, '31')
  return `${example} (${format})`
}
