import { EventState, type InboxEvent } from '../../contract/control/shapes.ts'
import { address } from '../../web/address.ts'
import { actionLink, filterForm, selectField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { card, heading } from '../../web/layout.ts'
import { badge, type Tone } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { formatInstant, formatRelativeTime, pluralize } from '../../web/words.ts'
import type { SharedContext, Site } from '../site/site.ts'
import { runHref } from '../site/words.ts'

const perPage = 50

const states: Readonly<Record<EventState, { readonly name: string; readonly tone: Tone }>> = {
  pending: { name: 'Waiting', tone: 'busy' },
  held: { name: 'Held', tone: 'wait' },
  settled: { name: 'Processed', tone: 'good' },
  rejected: { name: 'Rejected', tone: 'bad' },
  dismissed: { name: 'Dismissed', tone: 'plain' },
  test: { name: 'Test', tone: 'plain' },
}

/** The pages of webhook events: the list, and retrying or dismissing rejected events. */
export function eventPages(site: Site): void {
  site.sharedPage('/events', async (context, fields) => {
    const { control, notAllowed } = context
    const { receivers } = await control.about({})
    const connection = fields('connection') || (receivers[0] ?? '')
    if (connection === '') return { title: 'Webhooks', content: withoutWebhook(), section: 'events' }
    const state = EventState.safeParse(fields('state')).data
    const chosen = { connection, state }
    const { data, next } = await control.listEvents({
      params: { connection },
      query: {
        ...(state && { state }),
        ...(fields('after') && { after: fields('after') }),
        order: 'newest',
        limit: perPage,
      },
    })
    const { connections } = await control.status({ query: { connection } })
    const rejected = connections[0]?.inbox?.rejected ?? 0
    const content = html`${heading({ title: 'Webhooks', lead: 'Events received by webhook, newest first.' })}
${
  rejected > 0 &&
  card({
    title: html`${pluralize(rejected, 'event')} could not be read`,
    id: 'rejected',
    tone: 'bad',
    aside: actionLink({
      href: address('/events/retry', { connection }),
      name: 'Read them again',
      notAllowed: notAllowed('retryEvents'),
    }),
    content: html`<p>The list below shows the reason for each. Fix the cause, for example the mapping of the connection, and read them again. Dismiss an event that you do not need.</p>`,
  })
}
${filterForm({
  action: '/events',
  label: 'Events',
  part: 'events',
  all: state === undefined ? null : address('/events', { connection }),
  fields: html`${selectField({
    name: 'connection',
    label: 'Connection',
    options: receivers.map((name) => ({ value: name, name })),
    value: connection,
  })}${selectField({
    name: 'state',
    label: 'State',
    options: [{ value: '', name: 'Any' }, ...EventState.options.map((value) => ({ value, name: states[value].name }))],
    value: state ?? '',
  })}`,
})}
<section class="card" id="events" aria-label="Events">
${eventsTable(data, state === undefined ? 'No event has been received yet.' : 'No event matches.', context)}
${paging({ label: 'Pages of events', path: '/events', query: chosen, after: fields('after'), next })}
</section>`
    return { title: 'Webhooks', content, section: 'events' }
  })

  site.action('/events/retry', {
    section: 'events',
    operation: 'retryEvents',
    ask: async (_context, fields) => ({
      title: `Read the rejected events of ${fields('connection')} again?`,
      explanation: html`<p>The next run reads all of them again with the current mapping. An event that still cannot be read is rejected again. An event whose content was removed stays rejected.</p>`,
      hidden: { connection: fields('connection') },
      button: 'Read them again',
      cancel: address('/events', { connection: fields('connection') }),
    }),
    perform: async ({ control }, fields) => {
      const connection = fields('connection')
      const { events } = await control.retryEvents({ params: { connection }, body: {} })
      return {
        to: address('/events', { connection }),
        done: `${pluralize(events, 'event')} will be read again by the next run.`,
      }
    },
  })

  site.action('/events/dismissal', {
    section: 'events',
    operation: 'dismissEvents',
    ask: async (_context, fields) => ({
      title: 'Dismiss the event?',
      explanation: html`<p>Event ${fields('id')} of ${fields('connection')} will have no effect, and its content is removed. You cannot undo this.</p>`,
      hidden: { connection: fields('connection'), id: fields('id') },
      button: 'Dismiss the event',
      danger: true,
      cancel: address('/events', { connection: fields('connection') }),
    }),
    perform: async ({ control }, fields) => {
      const [connection, id] = [fields('connection'), fields('id')]
      const { events } = await control.dismissEvents({ params: { connection }, body: { ids: [id] } })
      const done = events === 0 ? 'Nothing was dismissed: the event is no longer rejected.' : 'The event was dismissed.'
      return { to: address('/events', { connection }), done }
    },
  })
}

function withoutWebhook(): Html {
  return html`${heading({ title: 'Webhooks' })}
<p class="empty" role="status">No connection has a webhook. With one, HR’s system reports each change as it happens, and nobody waits for the nightly run. <a href="/docs/webhooks">How to set it up</a></p>`
}

function eventsTable(events: readonly InboxEvent[], empty: string, { now, notAllowed }: SharedContext): Html {
  const columns: readonly Column<InboxEvent>[] = [
    {
      name: 'Event',
      kind: 'row',
      cell: ({ id, eventId }) =>
        html`event <span class="key">${id}</span>${eventId !== null && html` <span class="hint">${eventId}</span>`}`,
    },
    {
      name: 'Received',
      cell: ({ receivedAt }) =>
        html`${formatInstant(receivedAt)} <span class="hint">${formatRelativeTime(receivedAt, now)}</span>`,
    },
    { name: 'State', cell: ({ state }) => badge(states[state].name, states[state].tone) },
    { name: 'Why', kind: 'long', cell: ({ reason }) => reason },
    { name: 'Run', cell: ({ runId }) => runId !== null && html`<a href="${runHref(runId)}">the run</a>` },
    {
      name: 'Dismiss',
      kind: 'action',
      cell: ({ id, connection, state }) =>
        state === 'rejected' &&
        notAllowed('dismissEvents') === null &&
        actionLink({
          href: address('/events/dismissal', { connection, id }),
          name: 'Dismiss',
          label: `Dismiss event ${id}`,
          kind: 'danger',
        }),
    },
  ]
  return table({ caption: 'Events, newest first', columns, rows: events, empty })
}
