import { othersGoOnText } from '../../contract/control/left-out.ts'
import type {
  ChangedPerson,
  SettingsComparison,
  SettingsEffect,
  SettingsPreview,
} from '../../contract/control/settings-changes.ts'
import type { ChangeView } from '../../contract/control/shapes.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { card } from '../../web/layout.ts'
import { joined } from '../../web/parts.ts'
import { type Column, table } from '../../web/tables.ts'
import { number } from '../../web/words.ts'
import { aboutText, fieldsText, guardName, kindBadge, kinds, nameOf, sentence, whoText } from '../site/words.ts'

type Figure = { readonly name: string; readonly of: (effect: SettingsEffect) => string }
type Row = { readonly name: string; readonly before: string; readonly after: string }

const leavers = 'Leavers'
const figures: readonly Figure[] = [
  { name: 'Rows of the export', of: ({ rows }) => number(rows) },
  { name: 'People in it', of: ({ records }) => number(records) },
  { name: 'Rows or cells that cannot be read', of: ({ rejected }) => number(rejected) },
  { name: 'Joiners', of: ({ counts }) => number(counts.join) },
  { name: leavers, of: ({ counts }) => number(counts.leave) },
  { name: 'Returns', of: ({ counts }) => number(counts.return) },
  { name: 'Movers', of: ({ counts }) => number(counts.update) },
  { name: 'Corrections', of: ({ counts }) => number(counts.correct) },
  {
    name: 'Guards that would hold the plan',
    of: ({ guards, leftOut }) => (leftOut ? [] : failedGuards(guards)).map(guardName).join('\n') || 'none',
  },
]

type Known = Pick<SettingsPreview['linked'][number], 'effect' | 'effectTrouble'> & { readonly connection: string }

/** What runs over the newest export would do, with the settings as they are beside the changed ones, and for whom that differs. */
export function effectCards(preview: SettingsPreview, connection: string): Html {
  const { effect, effectTrouble, isSame, linked, moreLinked, removedLinked } = preview
  return html`${isSame && card({ title: 'What a run would do', id: 'effect', content: html`<p>The same as now, so the export was not read for it.</p>` })}
${(effect !== null || effectTrouble !== null) && effectCard('On the newest export', 'effect', { connection, effect, effectTrouble })}
${linked.map((one) => effectCard(`On the linked connection ${one.connection}`, `effect-${one.connection}`, one))}
${moreLinked.length > 0 && card({ title: 'Further linked connections that change', id: 'more-linked', content: html`<p>Each reads the export twice, so Rollcall calculated no more of them. Look at their next plans.</p>${nameList(moreLinked)}` })}
${removedLinked.length > 0 && card({ title: 'Linked connections that no longer run', id: 'removed-linked', tone: 'wait', content: html`<p>Their people stay on the platform as they are, and nobody of them leaves automatically any more.</p>${nameList(removedLinked)}` })}`
}

const maxNames = 10

function nameList(names: readonly string[]): Html {
  const list = (part: readonly string[]) => html`<ul class="lines">${part.map((name) => html`<li>${name}</li>`)}</ul>`
  const rest = names.slice(maxNames)
  return html`${list(names.slice(0, maxNames))}${rest.length > 0 && html`<details><summary>${number(rest.length)} more</summary>${list(rest)}</details>`}`
}

function effectCard(title: string, id: string, { connection, effect, effectTrouble }: Known): Html {
  return card({
    ...{ title, id },
    content:
      effect === null
        ? html`<p class="notice bad">${sentence(`What a run would do is not known: ${effectTrouble}`)}</p>`
        : html`${effect.beforeTrouble !== null && html`<p class="notice bad">${sentence(`With the settings as they are, the export cannot be read: ${effect.beforeTrouble}`)}</p>`}
${effect.hasSourceChanged && html`<p class="notice bad">Another export arrived, or a run was accepted, while this was calculated, so differences may come from that. Look at it again.</p>`}
${isUnchanged(effect) ? unchangedPart(effect) : html`<p>What the next run would do. Nothing was stored or sent.</p>${effectTable(effect)}${reasonsList(effect)}${peoplePart(effect, connection)}`}`,
  })
}

function isUnchanged({ before, after, people, uncompared }: SettingsComparison): boolean {
  return people.length + uncompared.length === 0 && JSON.stringify(before) === JSON.stringify(after)
}

function unchangedPart(effect: SettingsComparison): Html {
  return html`<p>The next run would do the same as now, for everybody. Nothing was stored or sent.</p>
<details><summary>What it would do</summary>${effectTable(effect)}${reasonsList(effect)}</details>`
}

function effectTable({ before, after }: SettingsComparison): Html {
  const all = figures.map(({ name, of }) => ({ name, before: before ? of(before) : '–', after: of(after) }))
  const rows = all.filter((row) => row.name === leavers || row.after !== '0' || !['0', '–'].includes(row.before))
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

/** More people would push the button out of sight. */
const maxOpenPeople = 10

/** Who would leave, join or change otherwise than with the settings as they are. */
function peoplePart({ before, people, morePeople, uncompared }: SettingsComparison, connection: string): Html {
  const named = joined(
    kinds.filter(({ kind }) => uncompared.includes(kind)).map(({ many }) => many),
    ', ',
  )
  const none = uncompared.length === 0 ? 'nothing' : html`nothing, or one of the ${named}`
  const now: Column<ChangedPerson> = { name: 'Now', kind: 'sentence', cell: (one) => changeText(one.before, none) }
  const columns: readonly Column<ChangedPerson>[] = [
    { name: 'Person', kind: 'row', cell: (one) => personText(connection, one) },
    ...(before ? [now] : []),
    { name: 'Changed', kind: 'sentence', cell: (one) => changeText(one.after, none) },
  ]
  const rest = people.slice(maxOpenPeople)
  return html`<h3>${before ? 'For whom that differs' : 'For whom that does something'}</h3>
${uncompared.length > 0 && html`<p class="hint">There are too many ${named} to compare all of them person by person.</p>`}
${table({ caption: 'People whose change differs', columns, rows: people.slice(0, maxOpenPeople), empty: uncompared.length > 0 ? 'Nobody is known for whom it differs.' : 'For nobody.' })}
${rest.length > 0 && html`<details><summary>${number(rest.length)} more</summary>${table({ caption: 'Further people whose change differs', columns, rows: rest, empty: null })}</details>`}
${morePeople > 0 && html`<p class="hint">The first ${number(people.length)} of ${number(people.length + morePeople)} people are shown.</p>`}`
}

/** A joiner has no page yet. */
function personText(connection: string, { identityId, person, before, after }: ChangedPerson): Html {
  const isKnown = [before, after].some((change) => change !== null && change.kind !== 'join')
  if (isKnown) return whoText({ connection, identityId }, person)
  const name = nameOf(person)
  return html`${name !== null && html`<span class="name">${name}</span> `}<span class="key">${identityId}</span>${aboutText(person)}`
}

function changeText(change: ChangeView | null, none: Renderable): Html {
  if (change === null) return html`<span class="faint">${none}</span>`
  const { kind, fields = {}, why } = change
  // A departure is about its date; a joiner has a value in every field.
  const isAboutDate = kind === 'leave' || kind === 'join'
  const { separatedAt } = fields
  const shown = isAboutDate ? { ...(separatedAt && { separatedAt }) } : fields
  return html`${kindBadge(kind)}${Object.keys(shown).length > 0 && fieldsText(shown)}${why !== undefined && html`<span class="hint">${why}</span>`}`
}

function linesOf(text: string): Html {
  return html`${text.split('\n').map((line, at) => html`${at > 0 && html`<br>`}${line}`)}`
}

/** Why the plan would be held with the changed settings, and what they newly warn of. */
function reasonsList({ before, after }: SettingsComparison): Html | null {
  const failed = after.leftOut ? [] : after.guards.filter(({ ok }) => !ok)
  const warnings = after.warnings.filter((warning) => !before?.warnings.includes(warning))
  if (failed.length + warnings.length === 0 && !after.leftOut) return null
  return html`<ul class="lines">${after.leftOut && html`<li>${sentence(othersGoOnText(after.leftOut))}</li>`}
${failed.map(({ name, reason }) => html`<li><strong class="bad">${guardName(name)}</strong>: ${reason ?? 'beyond its limit'}</li>`)}
${warnings.map((warning) => html`<li><strong>New warning</strong>: ${warning}</li>`)}</ul>`
}

function failedGuards(guards: SettingsEffect['guards']): string[] {
  return guards.filter(({ ok }) => !ok).map(({ name }) => name)
}
