import type { PlanPart, Run } from '../../contract/control/shapes.ts'
import { renderChanges } from './plan.ts'
import { countsText } from './tallies.ts'
import { escapeText, formatInstant, number, type Paint, pluralize, shortId } from './text.ts'

const nothingElse = { unchanged: 0, rejected: 0, incomplete: 0 }

/** What a person who approves a part of a held plan needs to read: its people, and what stays held. */
export function renderPlanPart({ run, part }: { readonly run: Run; readonly part: PlanPart }, paint: Paint): string {
  const { counts, people, peopleOfPlan, remaining } = part
  const until = run.expiresAt === null ? '' : `, until ${formatInstant(run.expiresAt)}`
  return [
    `${paint('bold', escapeText(run.connection))} · ${number(people)} of ${pluralize(peopleOfPlan, 'change')} of run ${shortId(run.id)}`,
    `This part: ${countsText({ ...counts, ...nothingElse })}`,
    paint('dim', `The rest stays held${until}: ${countsText({ ...remaining, ...nothingElse })}`),
    '',
    renderChanges(part.changes, paint, counts),
  ].join('\n')
}

/** What of a held plan still waits after a part of it was approved. */
export function renderRemaining({ id, counts }: Run): string {
  const rest = counts === null ? '' : `: ${countsText({ ...counts, ...nothingElse })}`
  return `The rest of run ${shortId(id)} stays held${rest}. rollcall run ${shortId(id)} shows it.`
}
