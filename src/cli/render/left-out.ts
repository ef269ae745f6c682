import type { LeftOutPerson } from '../../contract/control/left-out.ts'
import { leftOutDecision, leftOutOf } from '../../contract/control/person-texts.ts'
import { firstRows } from './status.ts'
import { age, escapeText, formatInstant, type Paint, shortId } from './text.ts'

/** How notes about people name a run, and what decides about it. */
export const runTexts = {
  run: (runId: string): string => `run ${shortId(runId)}`,
  decision: (runId: string): string[] => [`decide with: rollcall approve ${shortId(runId)}`],
}

/** The people who were left out when a part of a plan was approved, one line each, in the order given. */
export function renderLeftOut(people: readonly LeftOutPerson[], paint: Paint): string {
  const withNames = people.some(({ name }) => name !== undefined)
  const formats = { moment: formatInstant, ...runTexts }
  const rows = people.map((one) => [
    one.connection,
    escapeText(one.identityId),
    ...(withNames ? [one.name ? escapeText(one.name) : '-'] : []),
    one.departs ? 'departure' : 'another change',
    age(one.ageSeconds),
    escapeText(leftOutDecision(one, formats).join('')),
    escapeText(leftOutOf(one, formats).join('')),
  ])
  const head = ['CONNECTION', 'KEY', ...(withNames ? ['NAME'] : []), 'WAITS', 'FOR', 'DECISION', 'WHY']
  return firstRows(head, rows, paint).join('\n')
}
