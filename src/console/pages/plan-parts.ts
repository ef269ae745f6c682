import type { ChangeView, RejectView, Run, RunSummary, Verdict } from '../../contract/control/shapes.ts'
import { type Html, html } from '../../web/html.ts'
import { badge, difference, joined } from '../../web/parts.ts'
import { type Column, table } from '../../web/tables.ts'
import { number, pluralize } from '../../web/words.ts'
import {
  fieldName,
  fieldsText,
  guardName,
  type Kind,
  keyCell,
  kindBadge,
  kinds,
  personLink,
  valueText,
  whoText,
  withCode,
} from '../site/words.ts'

type ChangesTableOptions = {
  readonly connection: string
  readonly caption: string
  /** Whether the table has a column for the kind of change. */
  readonly withKind: boolean
  readonly empty: string
}

/** The changes of a plan as a table: person, change and reason. */
export function changesTable(
  changes: readonly ChangeView[],
  { connection, caption, withKind, empty }: ChangesTableOptions,
): Html {
  const columns: readonly Column<ChangeView>[] = [
    {
      name: 'Person',
      kind: 'row',
      cell: ({ identityId, person }) => whoText({ connection, identityId }, person),
    },
    ...(withKind ? [{ name: 'Change', cell: ({ kind }: ChangeView) => kindBadge(kind) }] : []),
    { name: 'What changes', kind: 'long', cell: ({ reason, fields }) => reason ?? fieldsText(fields) },
    {
      name: 'Why',
      kind: 'long',
      cell: ({ why, carried }) =>
        html`${why}${carried && html`<span class="hint">still due from an earlier run</span>`}`,
    },
  ]
  return table({ caption, columns, rows: changes, empty })
}

/** The verdicts of the guards: failed ones in full, passed ones as numbers. */
export function verdictsParts(guards: readonly Verdict[], connection: string): Html {
  const failed = guards.filter(({ ok }) => !ok)
  const passed = guards.filter(({ ok }) => ok)
  const columns: readonly Column<Verdict>[] = [
    { name: 'Guard', kind: 'row', cell: ({ name }) => guardName(name) },
    { name: 'Found', kind: 'figure', cell: ({ actual }) => number(actual) },
    { name: 'Limit', kind: 'figure', cell: ({ limit }) => (limit === null ? 'none' : number(limit)) },
  ]
  return html`${
    failed.length > 0 &&
    html`<ul class="verdicts">${failed.map(
      ({
        name,
        reason,
        actual,
        limit,
        hints = [],
        people = [],
      }) => html`<li><p><b>${guardName(name)}</b> ${badge('Failed', 'bad')}</p>
<p>${withCode(reason ?? `${number(actual)}${limit === null ? '' : ` of at most ${number(limit)}`}`)}</p>
${hints.length > 0 && html`<ul class="lines">${hints.map((hint) => html`<li>${withCode(hint)}</li>`)}</ul>`}
${people.length > 0 && html`<p class="hint">Such as ${joined(people.map((identityId) => personLink({ connection, identityId })))}</p>`}</li>`,
    )}</ul>`
  }
${
  passed.length > 0 &&
  html`<details><summary>${pluralize(passed.length, 'guard')} passed</summary>${table({ caption: 'Guards that passed', columns, rows: passed, empty: null })}</details>`
}`
}

/** The summary of a large plan: changes by field, and leavers by manager. */
export function summaryParts({ fields, managers, managersCount }: RunSummary, connection: string): Html {
  const key = (identityId: string) => personLink({ connection, identityId })
  const examples = (keys: readonly string[]) => html`<span class="hint">such as ${joined(keys.map(key))}</span>`
  const fieldColumns: readonly Column<RunSummary['fields'][number]>[] = [
    { name: 'Field', kind: 'row', cell: ({ field }) => fieldName(field) },
    { name: 'People', kind: 'figure', cell: ({ people }) => number(people) },
    { name: 'Lose the value', kind: 'figure', cell: ({ blanked }) => number(blanked) },
    { name: 'Get a first value', kind: 'figure', cell: ({ filled }) => number(filled) },
    {
      name: 'Differences',
      kind: 'long',
      cell: ({ field, ways, values, examples: keys }) =>
        html`<ul class="list">${
          ways.length > 0
            ? ways.map(({ way, people }) => html`<li>${number(people)}: ${way}</li>`)
            : values.map(
                ({ from, to, people }) =>
                  html`<li>${number(people)}: ${difference(valueText(field, from), valueText(field, to))}</li>`,
              )
        }</ul>${examples(keys)}`,
    },
  ]
  const managerColumns: readonly Column<RunSummary['managers'][number]>[] = [
    {
      name: 'Manager',
      kind: 'row',
      cell: ({ manager }) => (manager === null ? 'no manager' : valueText('managerName', manager)),
    },
    { name: 'Leavers', kind: 'figure', cell: ({ leavers }) => number(leavers) },
    { name: 'For example', kind: 'long', cell: ({ examples: keys }) => joined(keys.map(key)) },
  ]
  const more = managersCount - managers.length
  return html`<div class="group"><h3>By field</h3>${table({ caption: 'Changes by field', columns: fieldColumns, rows: fields, empty: 'No field changes.' })}</div>
${
  managers.length > 0 &&
  html`<div class="group"><h3>Leavers by manager</h3>${table({ caption: 'Leavers by manager', columns: managerColumns, rows: managers, empty: null })}
${more > 0 && html`<p class="hint">and ${pluralize(more, 'more manager')}</p>`}</div>`
}`
}

/** The rejected rows and the unreadable cells. */
export function rejectsTable(rejects: readonly RejectView[], run: Pick<Run, 'connection' | 'source'>): Html {
  const columns: readonly Column<RejectView>[] = [
    {
      name: 'Line',
      kind: 'row',
      cell: ({ line, event }) =>
        event === undefined
          ? html`${run.source?.name ?? 'source'}:<b>${line}</b>`
          : html`event ${event}, item <b>${line}</b>`,
    },
    { name: 'Person', cell: ({ identityId }) => keyCell(run.connection, identityId) },
    { name: 'Column', kind: 'long', cell: ({ column }) => column },
    { name: 'Why', kind: 'long', cell: ({ reason }) => reason },
    {
      name: 'Ignored',
      cell: ({ cellOnly, mayLeave }) =>
        html`${cellOnly ? 'the field' : 'the row'}${mayLeave && html` ${badge('May have left', 'bad')}`}`,
    },
  ]
  return table({
    caption: 'Rejected rows and cells, by line',
    columns,
    rows: rejects,
    empty: 'Every row could be read.',
  })
}

/** Parses a kind of change; null if the text is none. */
export function kindOf(text: string): Kind | null {
  return kinds.find(({ kind }) => kind === text)?.kind ?? null
}
