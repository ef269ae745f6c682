import type { Leaver } from '../../contract/control/leavers.ts'
import { leaverStates } from '../../contract/control/leavers.ts'
import { personNotes } from '../../contract/control/person-texts.ts'
import type { Person, PersonChange } from '../../contract/control/shapes.ts'
import { address } from '../../web/address.ts'
import { actionLink, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge, definitions, type TimelineEntry, type Tone, timeline } from '../../web/parts.ts'
import { formatSeconds } from '../../web/span.ts'
import { type Column, table } from '../../web/tables.ts'
import { day, formatInstant } from '../../web/words.ts'
import { seesValues } from '../site/control.ts'
import type { Fields, PageContext, Site } from '../site/site.ts'
import { shortId } from '../site/words.ts'
import {
  aboutText,
  answerText,
  capital,
  fieldName,
  fieldsText,
  kindBadge,
  nameOf,
  personHref,
  reasonField,
  runHref,
  valueText,
} from '../site/words.ts'

/** What HR says of a person beside what the platform has, how it came about, and what can be done. */
export function personPages(site: Site): void {
  site.page('/person', async (context, fields) => {
    const person = await personOf(context, fields, { values: seesValues(context.caller) })
    const { connection, identityId } = person
    const known = person.desired ?? person.confirmed
    const [name, key] = [nameOf(known), html`<span class="key">${identityId}</span>`]
    const content = html`${heading({
      title: name === null ? key : html`${name} ${key}`,
      crumbs: [
        { name: 'People', href: '/people' },
        { name: connection, href: address('/people', { connection }) },
      ],
      lead: html`${aboutText(known)}${person.asOf && html`<span>HR’s facts are of ${formatInstant(person.asOf)}</span>`}`,
      actions: actionsFor(person, context),
    })}
${notes(person)}
${card({
  title: 'HR and the platform',
  id: 'fields',
  aside: standingOf(person),
  content: html`${fieldsTable(person)}
${!seesValues(context.caller) && html`<p class="hint">You see which fields there are and not what they hold: personal values are shown to operators.</p>`}`,
})}
${person.leavers.length > 0 && card({ title: 'Departures', id: 'departures', content: html`${person.leavers.map(departure)}` })}
${card({ title: 'History', id: 'history', content: historyTable(person.changes) })}`
    return { title: identityId, content, section: 'people' }
  })

  site.action('/person/sync', {
    section: 'people',
    operation: 'startRun',
    ask: async (context, fields) => {
      const { identityId, ...person } = await personOf(context, fields)
      return {
        title: `Sync ${identityId} now?`,
        explanation: html`<p>HR’s source is read for this one person, and what differs from the platform is delivered. No one else is touched. The guards judge it.</p>`,
        button: 'Sync this person now',
        hidden: named({ identityId, ...person }),
        cancel: personHref({ identityId, ...person }),
      }
    },
    perform: async ({ control }, fields) => {
      const { connection, identityId } = namedBy(fields)
      const run = await control.startRun({ params: { connection }, body: { person: identityId } })
      return { to: runHref(run.id), done: `${identityId} is being synced.` }
    },
  })

  site.action('/person/hold-back', {
    section: 'people',
    operation: 'holdBack',
    ask: async (context, fields) => {
      const person = await personOf(context, fields)
      return {
        title: `Hold a leaving of ${person.identityId} back?`,
        explanation: html`<p>Until the day that you give, what HR says of a leaving of this person does not count: no evidence of it is sent to the platform. If the platform has the person as left, they come back at once.</p>
<p>From that day on HR counts again, without a further question.</p>`,
        fields: html`${textField({ name: 'until', label: 'Until', type: 'date', value: fields('until'), required: true })}${reasonField(fields)}`,
        button: 'Hold the leaving back',
        hidden: named(person),
        cancel: personHref(person),
      }
    },
    perform: async ({ control }, fields) => {
      const params = namedBy(fields)
      const body = { until: fields('until'), reason: fields('reason') }
      await control.holdBack({ params, body })
      return { to: personHref(params), done: `A leaving of ${params.identityId} is held back until ${body.until}.` }
    },
  })

  site.action('/person/end-hold-back', {
    section: 'people',
    operation: 'endHoldBack',
    ask: async (context, fields) => {
      const person = await personOf(context, fields)
      const { heldBack } = person
      return {
        title: `Let HR count again for ${person.identityId}?`,
        explanation: heldBack
          ? html`<p>${heldBack.by} holds leavings of this person back until ${day(heldBack.until)}: ${heldBack.reason}.</p>
<p>${heldBack.leaving ? html`HR says that they left on ${day(heldBack.leaving.separatedAt)}. That is planned at once.` : 'HR says nothing of a leaving, so that nothing is sent now.'}</p>`
          : html`<p>Nothing of this person is held back.</p>`,
        button: 'Let HR count again',
        hidden: named(person),
        cancel: personHref(person),
      }
    },
    perform: async ({ control }, fields) => {
      const params = namedBy(fields)
      await control.endHoldBack({ params, body: {} })
      return { to: personHref(params), done: `What HR says of ${params.identityId} counts again.` }
    },
  })

  site.action('/person/retract', {
    section: 'people',
    operation: 'retractPerson',
    ask: async (context, fields) => {
      const person = await personOf(context, fields)
      return {
        title: `Take ${person.identityId} back?`,
        explanation: html`<p>This is for a person who was sent in error, such as a test account. It plans to <strong>delete</strong> their data on the platform. Somebody who has left is no error: leaving is recorded by a date.</p>
<p>The plan is held: nothing is deleted before a person approves it. From then on the source may list this person and they are not sent.</p>`,
        fields: reasonField(fields),
        button: 'Plan the retraction',
        danger: true,
        hidden: named(person),
        cancel: personHref(person),
      }
    },
    perform: async ({ control }, fields) => {
      const params = namedBy(fields)
      const run = await control.retractPerson({ params, body: { reason: fields('reason') } })
      return {
        to: runHref(run.id),
        done: `The retraction of ${params.identityId} was asked for. It waits for an approval.`,
      }
    },
  })

  site.action('/person/withdraw-retraction', {
    section: 'people',
    operation: 'withdrawRetraction',
    ask: async (context, fields) => {
      const person = await personOf(context, fields)
      const { retracted } = person
      return {
        title: `Take the retraction of ${person.identityId} back?`,
        explanation: html`${retracted && html`<p>The person was taken back on ${day(retracted.at)}: ${retracted.reason}.</p>`}
<p>A run then sends the person again, as the source has them.</p>`,
        button: 'Take the retraction back',
        hidden: named(person),
        cancel: personHref(person),
      }
    },
    perform: async ({ control }, fields) => {
      const params = namedBy(fields)
      const run = await control.withdrawRetraction({ params, body: {} })
      return { to: runHref(run.id), done: `${params.identityId} is being sent again.` }
    },
  })
}

type Named = { readonly connection: string; readonly identityId: string }

function named({ connection, identityId }: Named): Readonly<Record<string, string>> {
  return { connection, key: identityId }
}

function namedBy(fields: Fields): Named {
  return { connection: fields('connection'), identityId: fields('key') }
}

// A look at the values of a person is recorded, so that a question about an act asks for none.
async function personOf({ control }: PageContext, fields: Fields, { values } = { values: false }): Promise<Person> {
  return await control.getPerson({ params: namedBy(fields), query: { values } })
}

function actionsFor(person: Person, context: PageContext): Html {
  const to = (act: string) => `/person/${act}?${new URLSearchParams(named(person)).toString()}`
  return html`${actionLink({ href: to('sync'), name: 'Sync now', kind: 'main', notAllowed: context.notAllowed('startRun') })}
${
  person.heldBack
    ? actionLink({
        href: to('end-hold-back'),
        name: 'Let HR count again',
        notAllowed: context.notAllowed('endHoldBack'),
      })
    : actionLink({ href: to('hold-back'), name: 'Hold back', notAllowed: context.notAllowed('holdBack') })
}
${
  person.retracted
    ? actionLink({
        href: to('withdraw-retraction'),
        name: 'Take the retraction back',
        notAllowed: context.notAllowed('withdrawRetraction'),
      })
    : actionLink({
        href: to('retract'),
        name: 'Retract',
        kind: 'danger',
        notAllowed: context.notAllowed('retractPerson'),
      })
}`
}

function notes(person: Person): Html | null {
  const found = personNotes<Renderable>(person, {
    day,
    moment: formatInstant,
    key: (key) => html`<span class="key">${key}</span>`,
  })
  if (found.length === 0) return null
  const items = found.map(
    ([first, ...others]) => html`<li>${typeof first === 'string' ? capital(first) : first}${others}.</li>`,
  )
  return html`<ul class="notes" aria-label="To know about this person">${items}</ul>`
}

/** Whether what was accepted of a person is delivered. It says nothing of rows that cannot be read: those were never accepted. */
export function standingOf({
  due,
  confirmed,
  retracted,
  heldBack,
}: Pick<Person, 'due' | 'confirmed' | 'retracted' | 'heldBack'>): Html {
  if (retracted) return badge('Retracted', 'plain')
  if (confirmed === null) return badge('Not on the platform yet', 'wait')
  if (due.length > 0) return badge('Differs', 'wait')
  return heldBack?.leaving ? badge('Leaving held back', 'wait') : badge('Delivered', 'good')
}

function fieldsTable({ desired, confirmed, due }: Person): Html {
  const names = [...new Set([...Object.keys(desired ?? {}), ...Object.keys(confirmed ?? {})])]
  const differs = (name: string) => due.includes(name)
  const columns: readonly Column<string>[] = [
    { name: 'Field', kind: 'row', cell: fieldName },
    {
      name: 'HR says',
      kind: 'long',
      cell: (name) => {
        const value = valueText(name, desired?.[name])
        return differs(name) ? html`<strong class="differs">${value}</strong>` : value
      },
    },
    { name: 'The platform has', kind: 'long', cell: (name) => valueText(name, confirmed?.[name]) },
    { name: 'Standing', cell: (name) => differs(name) && badge('To be delivered', 'wait') },
  ]
  const rows = names.filter((name) => name !== 'identityId')
  return table({
    caption: 'What HR says and what the platform has, by field',
    columns,
    rows,
    empty: 'Nothing is known.',
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
    { name: 'What became of it', kind: 'long', cell: answerText },
  ]
  return table({
    caption: 'What was planned for this person, the newest first',
    columns,
    rows: changes,
    empty: 'Nothing yet.',
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

/** How far one departure has come, on its clock. */
function departure(leaver: Leaver): Html {
  const { state, late, effectiveOn, effectiveAt, inferred, ourSeconds, dueAt, acknowledgedAt } = leaver
  const steps: (readonly [string | null, string, Tone])[] = [
    [effectiveAt, 'Last day was over', 'plain'],
    [leaver.statedAt, 'HR said so', 'plain'],
    [leaver.firstSeenAt, 'Seen here', 'plain'],
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
  ['Took here', ourSeconds !== null && formatSeconds(ourSeconds)],
  ['To be acknowledged until', acknowledgedAt === null && formatInstant(dueAt)],
  ['Run', html`<a href="${runHref(leaver.runId)}">${shortId(leaver.runId)}</a>`],
])}</div>`
}
