import { Run, RunState } from '../../contract/control/shapes.ts'
import { address } from '../../web/address.ts'
import { filterForm, selectField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { heading } from '../../web/layout.ts'
import { joined, live } from '../../web/parts.ts'
import { type Column, paging, table } from '../../web/tables.ts'
import { duration, formatInstant, formatRelativeTime } from '../../web/words.ts'
import type { Fields, SharedContext, Site } from '../site/site.ts'
import {
  capital,
  connectionField,
  countsText,
  runHref,
  runStates,
  shortId,
  stateBadge,
  triggers,
} from '../site/words.ts'

const perPage = 50
const renewSeconds = 10

/** Adds the list of all runs, newest first. */
export function runsPages(site: Site): void {
  site.sharedPage('/runs', async (context, fields) => {
    const { connections } = await context.control.about({})
    const chosen = chosenBy(fields)
    const content = html`${heading({ title: 'Runs', lead: 'All runs, newest first.' })}
${filter(chosen, connections)}
${await list(context, fields)}`
    const { connection } = chosen
    const isKnown = connections.includes(connection)
    return { title: 'Runs', content, section: 'runs', follows: isKnown ? { connection } : {} }
  })

  site.sharedPart('/runs/list', list)
}

type RunsQuery = {
  readonly connection: string
  readonly state: RunState | undefined
  readonly trigger: Run['trigger'] | undefined
}

function chosenBy(fields: Fields): RunsQuery {
  const state = RunState.safeParse(fields('state')).data
  const trigger = Run.shape.trigger.safeParse(fields('trigger')).data
  return { connection: fields('connection'), state, trigger }
}

function isNarrowed({ connection, state, trigger }: RunsQuery): boolean {
  return connection !== '' || state !== undefined || trigger !== undefined
}

function filter(chosen: RunsQuery, connections: readonly string[]): Html {
  return filterForm({
    action: '/runs',
    label: 'Runs',
    part: 'runs',
    all: isNarrowed(chosen) ? '/runs' : null,
    fields: html`${connectionField(connections, chosen.connection)}${selectField({
      name: 'state',
      label: 'State',
      options: [
        { value: '', name: 'Any' },
        ...RunState.options.map((value) => ({ value, name: runStates[value].name })),
      ],
      value: chosen.state ?? '',
    })}${selectField({
      name: 'trigger',
      label: 'Started by',
      options: [
        { value: '', name: 'Any' },
        ...Run.shape.trigger.options.map((value) => ({ value, name: capital(triggers[value]) })),
      ],
      value: chosen.trigger ?? '',
    })}`,
  })
}

/** One page of the list; it refreshes itself. */
async function list({ control, now }: SharedContext, fields: Fields): Promise<Html> {
  const chosen = chosenBy(fields)
  const { connection, state, trigger } = chosen
  const after = fields('after')
  const { data, next } = await control.listRuns({
    query: {
      ...(connection && { connection }),
      ...(state && { state: [state] }),
      ...(trigger && { trigger: [trigger] }),
      ...(after && { after }),
      limit: perPage,
    },
  })
  const columns: readonly Column<Run>[] = [
    {
      name: 'Run',
      kind: 'row',
      cell: (run) =>
        html`<a href="${runHref(run.id)}">${formatInstant(run.createdAt)}</a> <span class="hint">${shortId(run.id)} · ${formatRelativeTime(run.createdAt, now)}</span>`,
    },
    { name: 'Connection', kind: 'long', cell: (run) => run.connection },
    { name: 'State', cell: stateBadge },
    {
      name: 'Changes',
      kind: 'long',
      cell: (run) => (run.counts ? (countsText(run.counts) ?? html`<span class="faint">none</span>`) : run.reason),
    },
    {
      name: 'Started by',
      kind: 'long',
      cell: (run) => joined(run.requestedBy.length > 0 ? run.requestedBy : [triggers[run.trigger]]),
    },
    { name: 'Took', kind: 'figure', cell: (run) => run.durationMs !== null && duration(run.durationMs) },
  ]
  const empty = isNarrowed(chosen)
    ? 'No run matches.'
    : html`There has been no run yet. A run reads HR’s list, works out who joined, changed or left, and delivers that to the platform. To start one, choose a connection on <a href="/">the overview</a>, then “Read now”.`
  return live({
    id: 'runs',
    href: address('/runs/list', { ...chosen, after }),
    everySeconds: renewSeconds,
    content: html`<section class="card" aria-label="Runs">
${table({ caption: 'Runs, newest first', columns, rows: data, empty })}
${paging({ label: 'Pages of runs', path: '/runs', query: chosen, after, next })}
</section>`,
  })
}
