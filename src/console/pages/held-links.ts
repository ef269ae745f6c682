import type { Run } from '../../contract/control/shapes.ts'
import { html } from '../../web/html.ts'
import { runHref } from '../site/words.ts'

/** What every answer about a held plan does. */
export const answerNote = html`<p>The answer sends nothing, and later runs use it too. After an approval, Rollcall plans again.</p>`

/** The address of the page where a held run is approved or rejected. */
export function decisionHref({ id }: Pick<Run, 'id'>): string {
  return `${runHref(id)}/decision`
}

/** Whether an answer is newer than the plan of the run. */
export function isAnsweredSince(answeredAt: string, run: Run): boolean {
  return answeredAt >= (run.startedAt ?? run.createdAt)
}
