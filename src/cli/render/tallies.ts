import type {
  BlockedPeopleCounts,
  ConnectionStatus,
  Counts,
  ForeignTally,
  InDoubtCounts,
} from '../../contract/control/shapes.ts'
import { formatInstant, number, pluralize } from './text.ts'

const countNames = {
  join: ['joiner', 'joiners'],
  update: ['mover', 'movers'],
  leave: ['leaver', 'leavers'],
  return: ['return', 'returns'],
  correct: ['correction', 'corrections'],
  retract: ['retraction', 'retractions'],
  unchanged: ['unchanged', 'unchanged'],
  rejected: ['rejected row', 'rejected rows'],
  incomplete: ['row with a bad cell', 'rows with bad cells'],
} as const satisfies Record<keyof Counts, readonly [string, string]>

/** `3 joiners, 2 leavers, 987 unchanged`: the counts that are not zero, in the order of a plan. */
export function countsText(counts: Counts): string {
  const named = Object.entries(countNames) as [keyof Counts, readonly [string, string]][]
  const parts = named.flatMap(([kind, [one, many]]) => (counts[kind] > 0 ? [pluralize(counts[kind], one, many)] : []))
  return parts.length === 0 ? 'nothing' : parts.join(', ')
}

/** `2 people need attention, 1 of them may have left: rollcall problems`; no line if no one is blocked. */
export function blockedPeopleText(tally: BlockedPeopleCounts): string[] {
  const { people, leavers, rows } = tally
  if (people + rows === 0) return []
  const among = leavers === 0 ? '' : `, ${number(leavers)} of them may have left`
  return [`${peopleAndRows(tally)} ${people + rows === 1 ? 'needs' : 'need'} attention${among}: rollcall problems`]
}

/** `30 people are in doubt, 3 leavers among them: …`; no line if no one is. */
export function doubtText(tally: InDoubtCounts | null): string[] {
  if (tally === null) return []
  const { people, leavers, until } = tally
  const subject = leavers === people ? pluralize(people, 'leaver') : pluralize(people, 'person', 'people')
  const among = leavers === 0 || leavers === people ? '' : `, ${pluralize(leavers, 'leaver')} among them`
  return [
    `${subject} ${people === 1 ? 'is' : 'are'} in doubt${among}: the outcome of a request about them is unknown, ` +
      `and it may still take effect; the daemon or the next sync checks them until ${formatInstant(until)} at least`,
  ]
}

/** The people whose record on the platform differs from HR's export, or may differ: a line for each reason. */
export function peopleNotInStep({ problems, blockedPeople, foreign, leftOut, inDoubt }: ConnectionStatus): string[] {
  return [
    ...problemText(problems),
    ...blockedPeopleText(blockedPeople),
    ...foreignText(foreign),
    ...(leftOut ? leftOutText(leftOut) : []),
    ...doubtText(inDoubt),
  ]
}

/** `4 people were left out …`: how many, since when, and what lists them. */
function leftOutText({ people, since }: NonNullable<ConnectionStatus['leftOut']>): string[] {
  const [who, wait] = people === 1 ? ['was', 'waits'] : ['were', 'wait, the first']
  return [
    `${pluralize(people, 'person', 'people')} ${who} left out when a part of a plan was approved and ${wait} since ${formatInstant(since)}: rollcall problems`,
  ]
}

/** `3 people are on the platform but unknown to HR, and may have left: …`; no line if all of them are separated there. */
export function foreignText({ people, separated }: ForeignTally): string[] {
  if (people === 0) return []
  const others = separated === 0 ? '' : ` (${number(separated)} more ${separated === 1 ? 'is' : 'are'} separated there)`
  return [
    `${pluralize(people, 'person is', 'people are')} on the platform but unknown to HR, and may have left${others}: rollcall problems`,
  ]
}

function problemText({ refused, undelivered }: ConnectionStatus['problems']): string[] {
  const kinds = [
    [refused, 'refused by the platform'],
    [undelivered, 'cannot be delivered'],
  ] as const
  return kinds.flatMap(([{ people, leavers }, label]) => {
    if (people === 0) return []
    const among = leavers === 0 ? '' : `, among them ${pluralize(leavers, 'leaver')}`
    return [`${pluralize(people, 'person', 'people')} ${label}${among}`]
  })
}

/** `2 people`, `1 row without a readable key`, or both. */
export function peopleAndRows({ people, rows }: BlockedPeopleCounts): string {
  const subjects = [
    ...(people > 0 ? [pluralize(people, 'person', 'people')] : []),
    ...(rows > 0 ? [`${pluralize(rows, 'row')} without a readable key`] : []),
  ]
  return subjects.join(' and ')
}
