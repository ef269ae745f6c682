import { type Leaver, leaverStates } from '../../contract/control/leavers.ts'
import { personNotes, statementOfHr } from '../../contract/control/person-texts.ts'
import type { Person, PersonChange } from '../../contract/control/shapes.ts'
import { address } from '../../web/address.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge, definitions, type TimelineEntry, type Tone, timeline } from '../../web/parts.ts'
import { formatSeconds } from '../../web/span.ts'
import { type Column, table } from '../../web/tables.ts'
import { day, formatInstant } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Site } from '../site/site.ts'
import {
  aboutText,
  answerText,
  capital,
  fieldName,
  fieldsText,
  kindBadge,
  nameOf,
  runHref,
  shortId,
  valueText,
} from '../site/words.ts'
import { runLinks } from './left-out.ts'
import { personActions, personButtons } from './person-actions.ts'
import { readPerson } from './person-form.ts'

/** The page of a person: HR’s data beside the platform’s, departures, history and actions. */
export function personPages(site: Site): void {
  site.page('/person', async (context, fields) => {
    const person = await readPerson(context, fields, { values: seesValues(context.caller) })
    const { connection, identityId } = person
    const known = person.desired ?? person.confirmed
    const [name, key] = [nameOf(known), html`<span class="key">${identityId}</span>`]
    const content = html`${heading({
      title: name === null ? key : html`${name} ${key}`,
      crumbs: [
        { name: 'People', href: '/people' },
        { name: connection, href: address('/people', { connection }) },
      ],
      lead: html`${aboutText(known)}${person.asOf && html`<span>Data from HR: ${formatInstant(person.asOf)}</span>`}`,
      actions: personButtons(person, context),
    })}
${notesList(person)}
${card({
  title: 'HR and the platform',
  id: 'fields',
  aside: deliveryBadge(person),
  content: html`${fieldsTable(person)}
${!seesValues(context.caller) && html`<p class="hint">Viewers see dates and field names only. Operators also see the values.</p>`}`,
})}
${person.leavers.length > 0 && card({ title: 'Departures', id: 'departures', content: html`${person.leavers.map(departure)}` })}
${card({ title: 'History', id: 'history', content: historyTable(person.changes) })}`
    return { title: identityId, content, section: 'people' }
  })

  personActions(site)
}

function notesList(person: Person): Html | null {
  const notes = personNotes<Renderable>(person, {
    day,
    moment: formatInstant,
    key: (key) => html`<span class="key">${key}</span>`,
    ...runLinks,
  })
  if (notes.length === 0) return null
  const items = notes.map(
    ([first, ...others]) => html`<li>${typeof first === 'string' ? capital(first) : first}${others}.</li>`,
  )
  return html`<ul class="notes" aria-label="Notes about this person">${items}</ul>`
}

/** Whether the accepted data of a person is delivered. Unreadable rows do not matter here: they were never accepted. */
export function deliveryBadge({
  due,
  confirmed,
  retracted,
  heldBack,
  leftOut,
  statedDeparture,
}: Pick<Person, 'due' | 'confirmed' | 'retracted' | 'heldBack' | 'leftOut' | 'statedDeparture'>): Html {
  if (retracted) return badge('Retracted', 'plain')
  if (confirmed === null) return badge('Not on the platform yet', 'wait')
  if (due.length > 0) return badge('To be delivered', 'wait')
  if (statedDeparture?.isAccepted && !statedDeparture.isInferredByHr)
    return badge('Stated by an operator, not yet by HR', 'wait')
  if (leftOut) return badge('Waits for an approval', 'wait')
  return heldBack?.leaving ? badge('Departure held back', 'wait') : badge('Delivered', 'good')
}

function fieldsTable({ desired, confirmed, due, statedDeparture }: Person): Html {
  const names = [...new Set([...Object.keys(desired ?? {}), ...Object.keys(confirmed ?? {})])]
  const differs = (name: string) => due.includes(name)
  const columns: readonly Column<string>[] = [
    { name: 'Field', kind: 'row', cell: fieldName },
    {
      name: 'HR says',
      kind: 'long',
      cell: (name) => {
        const stated = name === 'separatedAt' && statedDeparture?.isAccepted ? statedDeparture : null
        const value = html`${valueText(name, desired?.[name])}${stated && html`<span class="hint">stated by ${stated.by}, ${statementOfHr(stated)}</span>`}`
        return differs(name) ? html`<strong class="differs">${value}</strong>` : value
      },
    },
    { name: 'The platform has', kind: 'long', cell: (name) => valueText(name, confirmed?.[name]) },
    { name: 'Delivery', cell: (name) => differs(name) && badge('To be delivered', 'wait') },
  ]
  const rows = names.filter((name) => name !== 'identityId')
  return table({
    caption: 'HR’s data and the platform’s data, by field',
    columns,
    rows,
    empty: 'Neither HR nor the platform has data.',
  })
}

function historyTable(changes: readonly PersonChange[]): Html {
  const columns: readonly Column<PersonChange>[] = [
    {
      name: 'Planned',
      kind: 'row',
      cell: ({ plannedAt, runId }) =>
        html`${formatInstant(plannedAt)}<span class="hint"><a href="${runHref(runId)}">run ${shortId(runId)}</a></span>`,
    },
    { name: 'Change', cell: ({ kind }) => kindBadge(kind) },
    { name: 'What changed', kind: 'long', cell: ({ reason, fields }) => reason ?? fieldsText(fields) },
    { name: 'File and line', kind: 'long', cell: ({ source }) => source ?? html`<span class="faint">no row</span>` },
    { name: 'Response', kind: 'long', cell: answerText },
  ]
  return table({
    caption: 'Changes planned for this person, newest first',
    columns,
    rows: changes,
    empty: 'No changes yet.',
  })
}

const leaverTones: Readonly<Record<Leaver['state'], Tone>> = {
  held: 'wait',
  dropped: 'plain',
  waiting: 'plain',
  sending: 'busy',
  acknowledged: 'good',
  not_effective: 'bad',
  effective: 'good',
  returned: 'plain',
  withdrawn: 'plain',
  retracted: 'plain',
}

function statedText({ statedBy, inferred }: Leaver): string {
  if (statedBy !== null) return `Stated by ${statedBy}`
  return inferred ? 'Inferred from HR data' : 'Stated by HR'
}

/** The steps of one departure, with their times. */
function departure(leaver: Leaver): Html {
  const { state, late, effectiveOn, effectiveAt, inferred, ourSeconds, dueAt, acknowledgedAt } = leaver
  const steps: (readonly [string | null, string, Tone])[] = [
    [effectiveAt, 'End of the last day', 'plain'],
    [leaver.statedAt, statedText(leaver), 'plain'],
    [leaver.firstSeenAt, 'Read by Rollcall', 'plain'],
    [leaver.acceptedAt, 'Accepted', 'plain'],
    [leaver.sentAt, 'Sent', 'plain'],
    [acknowledgedAt, 'Acknowledged', late ? 'bad' : 'good'],
    [leaver.visibleAt, 'Effective', 'good'],
    [leaver.endedAt, capital(state), 'plain'],
  ]
  const moments: TimelineEntry[] = steps
    .flatMap(([at, title, tone]) => (at === null ? [] : [{ instant: at, at: formatInstant(at), title, tone }]))
    .toSorted((a, b) => a.instant.localeCompare(b.instant))
  return html`<div class="group"><div class="heading"><h3>Last day ${day(effectiveOn)}${inferred && html` <span class="faint">inferred</span>`}</h3><div class="row">${badge(capital(state.replaceAll('_', ' ')), leaverTones[state])}${late && badge('Late', 'bad')}</div></div>
<p class="hint">${capital(leaverStates[state])}.${leaver.visibleAt === null && leaver.findingText && html` ${capital(leaver.findingText)}${leaver.helps && html`: ${leaver.helps}`}.`}</p>
${timeline(`Departure of ${effectiveOn}`, moments)}
${definitions([
  ['Processing time', ourSeconds !== null && formatSeconds(ourSeconds)],
  ['Due', acknowledgedAt === null && formatInstant(dueAt)],
  ['Run', html`<a href="${runHref(leaver.runId)}">${shortId(leaver.runId)}</a>`],
])}</div>`
}
