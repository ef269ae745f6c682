import type { AuditChoices } from '../../contract/control/trail.ts'
import { Failure } from '../../errors.ts'
import { filterForm, type Option, selectField, textField } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import type { Fields } from '../site/site.ts'
import { connectionField } from '../site/words.ts'

const names = ['from', 'to', 'act', 'by', 'connection', 'person'] as const

/** The filter of the audit page as its address has it; an empty text does not filter. Days include their end. */
export type AuditFilter = Readonly<Record<(typeof names)[number], string>>

/** The filter that the address of a page states. */
export function auditFilter(fields: Fields): AuditFilter {
  return Object.fromEntries(names.map((name) => [name, fields(name)])) as AuditFilter
}

/** Whether a filter leaves anything out. */
export function isNarrowed(filter: AuditFilter): boolean {
  return Object.values(filter).some((value) => value !== '')
}

/** The same filter as the control API takes it. */
export function auditQuery({ from, to, act, by, connection, person }: AuditFilter) {
  return {
    ...(from && { from: startOf('From', from, 0) }),
    ...(to && { to: startOf('Until', to, 1) }),
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
    })}${selectField({ name: 'act', label: 'Action', options: actOptions(choices.acts, act), value: act })}${selectField(
      { name: 'by', label: 'Done by', options: withAll(choices.by, by), value: by },
    )}${connectionField(choices.connections, connection)}${textField({ name: 'person', label: 'Key of a person', value: person, maxLength: 320 })}`,
  })
}

/** All acts, those of one kind below an option for the whole kind. */
function actOptions(acts: AuditChoices['acts'], chosen: string): Option[] {
  const kinds = Map.groupBy(acts, ({ act }) => act.slice(0, act.indexOf('.')))
  const options = [...kinds].flatMap(([kind, ofKind]) => [
    ...(ofKind.length > 1 ? [{ value: kind, name: `${kind}: all` }] : []),
    ...ofKind.map(({ act }) => ({ value: act, name: act })),
  ])
  const isListed = chosen === '' || options.some(({ value }) => value === chosen)
  return [{ value: '', name: 'All' }, ...options, ...(isListed ? [] : [{ value: chosen, name: chosen }])]
}

/** Names to choose from. A chosen one stays in the list. */
function withAll(listed: readonly string[], chosen: string): Option[] {
  const all = new Set(chosen === '' ? listed : [...listed, chosen])
  return [{ value: '', name: 'All' }, ...[...all].map((name) => ({ value: name, name }))]
}

/** The instant at which a day begins, or one `later` by that many days. */
function startOf(label: string, day: string, later: number): string {
  try {
    const date = Temporal.PlainDate.from(day, { overflow: 'reject' }).add({ days: later })
    return new Date(date.toZonedDateTime('UTC').epochMilliseconds).toISOString()
  } catch (error) {
    if (!(error instanceof RangeError)) throw error
    throw new Failure('usage', `${label}: "${day}" is no day; write one such as 2026-01-31`)
  }
}
