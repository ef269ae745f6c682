import type { AuditChoices } from '../../contract/control/trail.ts'
import { Failure } from '../../errors.ts'
import { isTimeZone, utc } from '../../text/time.ts'
import { filterForm, type Option, selectField, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import type { Fields } from '../site/site.ts'
import { capital, connectionField } from '../site/words.ts'

const names = ['from', 'to', 'act', 'by', 'connection', 'person', 'zone'] as const

/** The filter of the audit page as its address has it; an empty text does not filter. Days include their end; `zone` is where they begin, UTC if it is empty. */
export type AuditFilter = Readonly<Record<(typeof names)[number], string>>

/** The filter that the address of a page states. */
export function auditFilter(fields: Fields): AuditFilter {
  return Object.fromEntries(names.map((name) => [name, fields(name)])) as AuditFilter
}

/** Whether a filter leaves anything out. */
export function isNarrowed(filter: AuditFilter): boolean {
  return Object.entries(filter).some(([name, value]) => name !== 'zone' && value !== '')
}

/** The same filter as the control API takes it. */
export function auditQuery({ from, to, act, by, connection, person, zone }: AuditFilter) {
  return {
    ...(from && { from: startOf('From', { day: from, zone, later: 0 }) }),
    ...(to && { to: startOf('Until', { day: to, zone, later: 1 }) }),
    ...(act && { act }),
    ...(by && { by }),
    ...(connection && { connection }),
    ...(person && { identityId: person }),
  }
}

/** The form with the filter. */
export function auditFilterForm(filter: AuditFilter, choices: AuditChoices): Html {
  const { from, to, act, by, connection, person } = filter
  return filterForm({
    action: '/audit',
    label: 'Audit trail',
    part: 'entries',
    all: isNarrowed(filter) ? '/audit' : null,
    fields: html`${textField({ name: 'from', label: 'From', type: 'date', value: from })}${textField({
      name: 'to',
      label: 'Until',
      type: 'date',
      value: to,
    })}${selectField({ name: 'act', label: 'Action', options: actOptions(choices.acts, act), value: act })}${textField({
      name: 'by',
      label: 'Done by',
      value: by,
      maxLength: 320,
      suggestions: choices.by,
      placeholder: 'Full name',
    })}${connectionField(choices.connections, connection)}${textField({ name: 'person', label: 'Key of a person', value: person, maxLength: 320 })}${filterNote(filter)}`,
  })
}

/** All acts, those of one kind below an option for the whole kind. */
function actOptions(acts: AuditChoices['acts'], chosen: string): Option[] {
  const kinds = Map.groupBy(acts, ({ act }) => act.slice(0, act.indexOf('.')))
  const options = [...kinds].flatMap(([kind, ofKind]) => [
    ...(ofKind.length > 1 ? [{ value: kind, name: `${actName(kind)}: all` }] : []),
    ...ofKind.map(({ act }) => ({ value: act, name: actName(act) })),
  ])
  const isListed = chosen === '' || options.some(({ value }) => value === chosen)
  return [{ value: '', name: 'All' }, ...options, ...(isListed ? [] : [{ value: chosen, name: actName(chosen) }])]
}

/** An act in words: "Run approved" for `run.approved`. */
export function actName(act: string): string {
  return capital(act.replaceAll(/[._]/g, ' ')).replace(/^Hr\b/, 'HR')
}

/** Where the days begin: as the address states for chosen days, otherwise where a script finds the reader; and which names are suggested. */
function filterNote({ from, to, zone }: AuditFilter): Html {
  const isChosen = from !== '' || to !== ''
  const name = isChosen && zone !== '' ? zone : utc
  return html`<p class="hint"><input type="hidden" name="zone" value="${name}"${!isChosen && html` data-zone`}>Days begin at midnight in <span${!isChosen && html` data-zone-name`}>${name}</span>. The names in the newest 20,000 entries are suggested.</p>`
}

/** The API takes years of four digits. */
const lastInstantMs = Date.UTC(9999, 11, 31, 23, 59, 59, 999)

type DayInZone = { readonly day: string; readonly zone: string; readonly later: number }

/** The instant at which a day begins, or one `later` by that many days. */
function startOf(label: string, { day, zone, later }: DayInZone): string {
  const timeZone = zone === '' ? utc : zone
  if (!isTimeZone(timeZone))
    throw new Failure('usage', `zone: "${zone}" is not a time zone; write one such as Europe/Berlin`)
  try {
    const date = Temporal.PlainDate.from(day, { overflow: 'reject' }).add({ days: later })
    return new Date(Math.min(date.toZonedDateTime(timeZone).epochMilliseconds, lastInstantMs)).toISOString()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Failure('usage', `${label}: "${day}" is not a day; write one such as 2026-01-31`)
  }
}
