/** What a leaving date may say on the day of the run, which is 2026-11-20. */
export const dates = {
  'no date': '',
  past: '2026-06-30',
  today: '2026-11-20',
  tomorrow: '2026-11-21',
  'next year': '2027-11-20',
  impossible: '2026-02-31',
} as const

/** What a status may say. The last one is damaged: its bytes are not in the declared encoding. */
export const statuses = {
  employed: 'Active',
  left: 'Terminated',
  unlisted: 'Sabbatical',
  blank: '',
  unreadable: 'Ter\uFFFDminated',
} as const

/** Where a row may come from. Events are changes of a record, whose blank cells say nothing. */
export const feeds = ['snapshot', 'delta', 'event'] as const

/** What may be known of a person before. */
export const pasts = {
  'joined before': 'employed, also on the platform',
  new: 'not known',
  'separated before': 'left on 2026-03-31, as HR stated',
  'separated by absence before': 'left on 2026-03-31, inferred',
  'deferred before': 'employed, with the leaving date 2026-12-31',
  retracted: 'deleted as sent in error',
} as const

export type DateName = keyof typeof dates
export type StatusName = keyof typeof statuses
export type Feed = (typeof feeds)[number]
export type Past = keyof typeof pasts

export const outcomes = {
  employed: 'is employed, without a leaving date',
  date: 'has left on the date of the row',
  inferred: 'has left on the day of the export, which is inferred',
  waits: 'is employed until the date of the row',
  before: 'has left, on the date that was known before',
  'waits before': 'is employed until the date that was known before',
  unknown: 'is not sent',
  withheld: 'is not sent, whatever HR says',
} as const
export type Outcome = keyof typeof outcomes

type Table = {
  readonly feeds: readonly Feed[]
  readonly pasts: readonly Past[]
  /** A line for each date, with a column for each status. */
  readonly outcomes: Readonly<Record<DateName, string>>
}

/** What follows from a row. Columns: employed, left, unlisted, blank, unreadable. */
export const present: readonly Table[] = [
  {
    feeds: ['snapshot', 'delta', 'event'],
    pasts: ['joined before', 'new'],
    outcomes: {
      'no date': ' employed | inferred | employed | employed | employed ',
      past: '      date     | date     | date     | date     | date     ',
      today: '     date     | date     | date     | date     | date     ',
      tomorrow: '  waits    | inferred | waits    | waits    | waits    ',
      'next year': 'waits   | inferred | waits    | waits    | waits    ',
      impossible: 'employed | inferred | employed | employed | employed ',
    },
  },
  {
    feeds: ['snapshot', 'delta'],
    pasts: ['separated before', 'separated by absence before'],
    outcomes: {
      'no date': ' employed | before   | before   | employed | before   ',
      past: '      date     | date     | date     | date     | date     ',
      today: '     date     | date     | date     | date     | date     ',
      tomorrow: '  waits    | before   | before   | waits    | before   ',
      'next year': 'waits   | before   | before   | waits    | before   ',
      impossible: 'before   | before   | before   | before   | before   ',
    },
  },
  {
    feeds: ['event'],
    pasts: ['separated before', 'separated by absence before'],
    outcomes: {
      'no date': ' before   | before   | before   | before   | before   ',
      past: '      date     | date     | date     | date     | date     ',
      today: '     date     | date     | date     | date     | date     ',
      tomorrow: '  waits    | before   | before   | waits    | before   ',
      'next year': 'waits   | before   | before   | waits    | before   ',
      impossible: 'before   | before   | before   | before   | before   ',
    },
  },
  {
    feeds: ['snapshot', 'delta'],
    pasts: ['deferred before'],
    outcomes: {
      'no date': ' employed     | inferred | employed     | employed     | employed     ',
      past: '      date         | date     | date         | date         | date         ',
      today: '     date         | date     | date         | date         | date         ',
      tomorrow: '  waits        | inferred | waits        | waits        | waits        ',
      'next year': 'waits       | inferred | waits        | waits        | waits        ',
      impossible: 'waits before | inferred | waits before | waits before | waits before ',
    },
  },
  {
    feeds: ['event'],
    pasts: ['deferred before'],
    outcomes: {
      'no date': ' waits before | inferred | waits before | waits before | waits before ',
      past: '      date         | date     | date         | date         | date         ',
      today: '     date         | date     | date         | date         | date         ',
      tomorrow: '  waits        | inferred | waits        | waits        | waits        ',
      'next year': 'waits       | inferred | waits        | waits        | waits        ',
      impossible: 'waits before | inferred | waits before | waits before | waits before ',
    },
  },
  {
    feeds: ['snapshot', 'delta', 'event'],
    pasts: ['retracted'],
    outcomes: {
      'no date': ' withheld | withheld | withheld | withheld | withheld ',
      past: '      withheld | withheld | withheld | withheld | withheld ',
      today: '     withheld | withheld | withheld | withheld | withheld ',
      tomorrow: '  withheld | withheld | withheld | withheld | withheld ',
      'next year': 'withheld | withheld | withheld | withheld | withheld ',
      impossible: 'withheld | withheld | withheld | withheld | withheld ',
    },
  },
]

/** What follows for a person whose row is rejected whole, whatever its date and its status: what was known stays. */
export const rejectedRow: Readonly<Record<Past, Outcome>> = {
  'joined before': 'employed',
  new: 'unknown',
  'separated before': 'before',
  'separated by absence before': 'before',
  'deferred before': 'waits before',
  retracted: 'withheld',
}

/** What follows for a person whom nothing names, with `graceRuns: 2`. Only a snapshot says something by its silence. */
export const absent: Readonly<Record<Past, Readonly<Record<'once' | 'beyond grace' | 'elsewhere', Outcome>>>> = {
  'joined before': { once: 'employed', 'beyond grace': 'inferred', elsewhere: 'employed' },
  new: { once: 'unknown', 'beyond grace': 'unknown', elsewhere: 'unknown' },
  'separated before': { once: 'before', 'beyond grace': 'before', elsewhere: 'before' },
  'separated by absence before': { once: 'before', 'beyond grace': 'before', elsewhere: 'before' },
  'deferred before': { once: 'waits before', 'beyond grace': 'inferred', elsewhere: 'waits before' },
  retracted: { once: 'withheld', 'beyond grace': 'withheld', elsewhere: 'withheld' },
}

/** Whether a row is listed with a reason: its status is not listed, or a cell of it cannot be read. */
export function isListed(date: DateName, status: StatusName): boolean {
  return date === 'impossible' || status === 'unlisted' || status === 'unreadable'
}

/** The outcomes of a table, a list for each date in the order of the statuses. */
export function cellsOf({ outcomes: lines }: Table): [DateName, [StatusName, Outcome][]][] {
  const names = Object.keys(statuses) as StatusName[]
  return (Object.entries(lines) as [DateName, string][]).map(([date, line]) => {
    const words = line.split('|').map((word) => word.trim())
    return [date, names.map((status, column) => [status, outcomeNamed(words[column])])]
  })
}

function outcomeNamed(word = ''): Outcome {
  if (word in outcomes) return word as Outcome
  throw new Error(`"${word}" is no outcome`)
}
