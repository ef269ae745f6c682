import { dateReader } from '../../identity/mapping/dates.ts'
import { type Language, languages } from '../../identity/mapping/month-names.ts'

/** A way to write dates, in the words of the configuration. */
export type DateForm = {
  readonly format: string | readonly string[]
  readonly pivot?: number
  readonly language?: Language
}

/** What the dates of a column tell of how they are written. */
export type DateEvidence =
  | { readonly kind: 'none' }
  | { readonly kind: 'one'; readonly form: DateForm; readonly unread: number }
  /** Each form reads all dates, and as other days. */
  | { readonly kind: 'several'; readonly forms: readonly DateForm[] }
  | { readonly kind: 'unknown' }

/** So many of the dates may be unreadable: a bad cell costs its field only. */
const mostUnread = 0.1
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
  ],
  ...[
    'MM/dd/yyyy HH:mm:ss',
    'dd/MM/yyyy HH:mm:ss',
    'dd.MM.yyyy HH:mm:ss',
    'dd.MM.yyyy HH:mm',
    'M/d/yyyy h:mm a',
    'd/M/yyyy h:mm a',
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

/** How dates are written: only said where the dates themselves decide it. `usual`: how the system commonly writes them. */
export function dateEvidence(texts: readonly string[], usual: DateForm): DateEvidence {
  const filled = [...new Set(texts.map((text) => text.trim()).filter((text) => text !== ''))]
  if (filled.length === 0) return { kind: 'none' }
  const read = [usual, ...forms]
    .map((form) => ({ form, days: readingsOf(form, filled) }))
    .filter(({ days }) => days.filter((day) => day === null).length <= filled.length * mostUnread)
  const most = Math.max(...read.map(({ days }) => known(days)))
  const best = read.filter(({ days }) => known(days) === most)
  const byDays = [...Map.groupBy(best, ({ days }) => days.join()).values()]
  const [first, ...others] = byDays.flatMap(([one]) => (one === undefined ? [] : [one]))
  if (first === undefined) return { kind: 'unknown' }
  if (others.length > 0) return { kind: 'several', forms: [first, ...others].map(({ form }) => form) }
  return { kind: 'one', form: first.form, unread: filled.length - most }
}

/** Whether two columns may be written alike. */
export function isAmong(form: DateForm, candidates: readonly DateForm[]): boolean {
  return candidates.some(({ format, language }) => String(format) === String(form.format) && language === form.language)
}

function known(days: readonly (string | null)[]): number {
  return days.filter((day) => day !== null).length
}

function readingsOf({ format, ...words }: DateForm, texts: readonly string[]): (string | null)[] {
  const read = dateReader([format].flat(), words)
  return texts.map((text) => read(text, 'UTC'))
}
