import type { SettingsEffect, SettingsPreview } from '../../contract/control/settings-changes.ts'
import { type Html, html } from '../../web/html.ts'
import { card } from '../../web/layout.ts'
import { type Column, table } from '../../web/tables.ts'
import { number } from '../../web/words.ts'
import { guardName, sentence } from '../site/words.ts'

type Figure = { readonly name: string; readonly of: (effect: SettingsEffect) => string }
type Row = { readonly name: string; readonly before: string; readonly after: string }

const figures: readonly Figure[] = [
  { name: 'Rows of the export', of: ({ rows }) => number(rows) },
  { name: 'People in it', of: ({ records }) => number(records) },
  { name: 'Rows or cells that cannot be read', of: ({ rejected }) => number(rejected) },
  { name: 'Joiners', of: ({ counts }) => number(counts.join) },
  { name: 'Leavers', of: ({ counts }) => number(counts.leave) },
  { name: 'Returns', of: ({ counts }) => number(counts.return) },
  { name: 'Movers', of: ({ counts }) => number(counts.update) },
  { name: 'Corrections', of: ({ counts }) => number(counts.correct) },
  {
    name: 'Guards that would hold the plan',
    of: ({ guards }) => failedGuards(guards).map(guardName).join('\n') || 'none',
  },
]

type Effect = SettingsPreview['linked'][number]['effect']

/** What runs over the newest export would do, with the settings as they are beside the changed ones. */
export function effectCards({ effect, effectTrouble, linked }: SettingsPreview): Html {
  return html`${(effect !== null || effectTrouble !== null) && effectCard('On the newest export', 'effect', { effect, effectTrouble })}
${linked.map(({ connection, ...one }) => effectCard(`On the linked connection ${connection}`, `effect-${connection}`, one))}`
}

type Known = { readonly effect: Effect; readonly effectTrouble: string | null }

function effectCard(title: string, id: string, { effect, effectTrouble }: Known): Html {
  return card({
    ...{ title, id },
    content:
      effect === null
        ? html`<p class="notice bad">${sentence(`What a run would do is not known: ${effectTrouble}`)}</p>`
        : html`<p>What the next run would do. Nothing was stored or sent.</p>
${effectTable(effect)}${reasonsList(effect)}`,
  })
}

function effectTable({ before, after }: NonNullable<Effect>): Html {
  const rows = figures.map(({ name, of }) => ({ name, before: before ? of(before) : '–', after: of(after) }))
  const columns: readonly Column<Row>[] = [
    { name: 'Figure', kind: 'row', cell: ({ name }) => name },
    { name: 'Now', kind: 'figure', cell: (row) => linesOf(row.before) },
    {
      name: 'Changed',
      kind: 'figure',
      cell: (row) =>
        row.before === row.after ? linesOf(row.after) : html`<strong class="differs">${linesOf(row.after)}</strong>`,
    },
  ]
  return table({ caption: 'What a run would do', columns, rows, empty: 'Nothing.' })
}

function linesOf(text: string): Html {
  return html`${text.split('\n').map((line, at) => html`${at > 0 && html`<br>`}${line}`)}`
}

/** Why the plan would be held with the changed settings, and what they newly warn of. */
function reasonsList({ before, after }: NonNullable<Effect>): Html | null {
  const failed = after.guards.filter(({ ok }) => !ok)
  const warnings = after.warnings.filter((warning) => !before?.warnings.includes(warning))
  if (failed.length + warnings.length === 0) return null
  return html`<ul class="lines">${failed.map(({ name, reason }) => html`<li><strong class="bad">${guardName(name)}</strong>: ${reason ?? 'beyond its limit'}</li>`)}
${warnings.map((warning) => html`<li><strong>New warning</strong>: ${warning}</li>`)}</ul>`
}

function failedGuards(guards: SettingsEffect['guards']): string[] {
  return guards.filter(({ ok }) => !ok).map(({ name }) => name)
}
