import type { LeftOutPerson } from '../../contract/control/left-out.ts'
import { leftOutDecision, leftOutOf } from '../../contract/control/person-texts.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { badge } from '../../web/parts.ts'
import { type Column, table } from '../../web/tables.ts'
import { formatInstant, formatRelativeTime } from '../../web/words.ts'
import { capital, personCell, runHref, shortId } from '../site/words.ts'

/** How notes about people link a run, and the page that decides about it. */
export const runLinks = {
  run: (runId: string): Html => html`<a href="${runHref(runId)}">run ${shortId(runId)}</a>`,
  decision: (runId: string): Renderable[] => [
    'decide about ',
    html`<a href="${runHref(runId)}/decision">the held plan</a>`,
  ],
}

/** The people who were left out when a part of a plan was approved: what waits, since when and what decides about it. */
export function leftOutTable(people: readonly LeftOutPerson[], now: Date): Html {
  const formats = { moment: formatInstant, ...runLinks }
  const columns: readonly Column<LeftOutPerson>[] = [
    { name: 'Person', kind: 'row', cell: personCell },
    {
      name: 'Waits',
      cell: ({ departs }) => (departs ? badge('Departure', 'bad') : badge('Another change', 'plain')),
    },
    { name: 'Since', cell: ({ since }) => formatRelativeTime(since, now) },
    {
      name: 'Decision',
      kind: 'long',
      cell: (one) =>
        html`${sentenceOf(leftOutDecision<Renderable>(one, formats))}<span class="hint">${sentenceOf(leftOutOf<Renderable>(one, formats))}</span>`,
    },
  ]
  return table({
    caption: 'People who wait since a part of a plan was approved without them',
    columns,
    rows: people,
    empty: 'Nobody waits.',
  })
}

function sentenceOf([first, ...others]: readonly Renderable[]): Html {
  return html`${typeof first === 'string' ? capital(first) : first}${others}`
}
