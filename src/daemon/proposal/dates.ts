import { dateReader } from '../../identity/mapping/dates.ts'
import { isoFormat } from '../../identity/mapping/iso-dates.ts'
import { type Language, languages } from '../../identity/mapping/month-names.ts'
import { isPlaceholderDate } from '../../identity/mapping/placeholder-dates.ts'

/** A format of dates, as settings of the configuration. */
export type DateForm = {
  readonly format: string | readonly string[]
  readonly pivot?: number
  readonly language?: Language
}

/** What the dates of a column show about their format; `unread` counts cells. */
export type DateEvidence =
  | { readonly kind: 'none' }
  /** `near`: forms that read nearly all of them, as other days. A few mistyped dates may have decided against one. */
  | { readonly kind: 'one'; readonly form: DateForm; readonly unread: number; readonly near?: readonly DateForm[] }
  /** Each form reads all dates, and as other days. */
  | { readonly kind: 'several'; readonly forms: readonly DateForm[] }
  | { readonly kind: 'unknown' }

/** Maximum share of unreadable cells: a bad cell only costs its field. */
const maxUnreadShare = 0.1
const pivot = 2049

const numbers = [
  ...['yyyy-MM-dd', 'MM/dd/yyyy', 'dd/MM/yyyy', 'dd.MM.yyyy', 'dd-MM-yyyy', 'MM-dd-yyyy', 'yyyy/MM/dd', 'yyyyMMdd'],
  ...['M/d/yyyy', 'd/M/yyyy', 'd.M.yyyy', 'd-M-yyyy', 'M-d-yyyy', 'yyyy-M-d'],
  ...[
    "yyyy-MM-dd'T'HH:mm:ss",
    "yyyy-MM-dd'T'HH:mm:ssXXX",
    "yyyy-MM-dd'T'HH:mm:ss.SSSXXX",
    'yyyy-MM-dd HH:mm:ss',
    'yyyy-MM-dd HH:mm',
    isoFormat,
  ],
  ...[
    'MM/dd/yyyy HH:mm:ss',
    'dd/MM/yyyy HH:mm:ss',
    'dd.MM.yyyy HH:mm:ss',
    'dd.MM.yyyy HH:mm',
    'MM/dd/yyyy HH:mm',
    'dd/MM/yyyy HH:mm',
    'dd.MM.yyyy HH:mm:ss.SSS',
    'M/d/yyyy h:mm a',
    'd/M/yyyy h:mm a',
    'M/d/yyyy h:mm:ss a',
    'd/M/yyyy h:mm:ss a',
    'M/d/yyyy H:mm',
    'd/M/yyyy H:mm',
  ],
]
const shortYears = ['MM/dd/yy', 'dd/MM/yy', 'dd.MM.yy', 'M/d/yy', 'd/M/yy', 'd.M.yy', 'dd-MM-yy', 'yyMMdd']
const names = [
  'dd-MMM-yyyy',
  'd-MMM-yyyy',
  'dd MMM yyyy',
  'd MMM yyyy',
  'MMM d, yyyy',
  'MMMM d, yyyy',
  'd MMMM yyyy',
  'd. MMMM yyyy',
  'd. MMM yyyy',
]

const forms: readonly DateForm[] = [
  ...numbers.map((format) => ({ format })),
  ...shortYears.map((format) => ({ format, pivot })),
  ...languages.flatMap((language) =>
    [...names, 'dd-MMM-yy'].map((format) => ({ format, language, ...(format.endsWith('-yy') && { pivot }) })),
  ),
]

/**
 * The format of dates, only if the dates themselves decide it. Placeholders for "no date" do not. `usual`: the common format of the system.
 */
export function dateEvidence(texts: readonly string[], usual: DateForm): DateEvidence {
  // Cells count, not distinct texts: most of them may hold the same date.
  const cells = countTexts(texts)
  const total = cells.reduce((sum, [, count]) => sum + count, 0)
  if (total === 0) return { kind: 'none' }
  const read = [usual, ...forms]
    .map((form) => ({ form, ...readingsOf(form, cells) }))
    .filter(({ unread }) => unread <= total * maxUnreadShare)
  const fewest = Math.min(...read.map(({ unread }) => unread))
  const best = read.filter(({ unread }) => unread === fewest)
  const byDays = [...Map.groupBy(best, ({ days }) => days.join()).values()]
  const [first, ...others] = byDays.flatMap(([one]) => (one === undefined ? [] : [one]))
  if (first === undefined) return { kind: 'unknown' }
  if (others.length > 0) return { kind: 'several', forms: [first, ...others].map(({ form }) => form) }
  const near = read.filter((one) => one.unread > fewest && disagree(one.days, first.days)).map(({ form }) => form)
  return { kind: 'one', form: first.form, unread: fewest, ...(near.length > 0 && { near }) }
}

/** Whether two columns may have the same format. */
export function isAmong(form: DateForm, candidates: readonly DateForm[]): boolean {
  return candidates.some(({ format, language }) => String(format) === String(form.format) && language === form.language)
}

/** Whether two forms read a text as different days. */
function disagree(days: readonly (string | null)[], others: readonly (string | null)[]): boolean {
  return days.some((day, at) => day !== null && others[at] !== null && day !== others[at])
}

type TextCounts = readonly (readonly [text: string, count: number])[]

/** The distinct texts that show the format of dates, and the number of cells of each. */
function countTexts(texts: readonly string[]): TextCounts {
  const counts = new Map<string, number>()
  for (const text of texts) counts.set(text, (counts.get(text) ?? 0) + 1)
  const cells = [...counts].map(([text, count]) => [text.trim(), count] as const)
  return cells.filter(([text]) => text !== '' && !isPlaceholderDate(text))
}

/** The day of each text, and how many cells have none. */
function readingsOf(
  { format, ...formatOptions }: DateForm,
  cells: TextCounts,
): { days: (string | null)[]; unread: number } {
  const read = dateReader([format].flat(), formatOptions)
  const days = cells.map(([text]) => read(text, 'UTC'))
  const unread = cells.reduce((sum, [, count], at) => sum + (days[at] === null ? count : 0), 0)
  return { days, unread }
}
