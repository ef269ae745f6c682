import type { Alert } from '../../contract/control/alerts.ts'
import type { ChangeView, Counts, FieldChange, PersonChange, RecordView, Run } from '../../contract/control/shapes.ts'
import { selectField, textField } from '../../web/forms.ts'
import { type Html, html, type Renderable } from '../../web/html.ts'
import { badge, code, difference, joined, type Tone } from '../../web/parts.ts'
import { day, formatInstant, number, pluralize } from '../../web/words.ts'

/** A kind of change. */
export type Kind = ChangeView['kind']

/** Name and tone of each state of a run. */
export const runStates: Readonly<Record<Run['state'], { readonly name: string; readonly tone: Tone }>> = {
  waiting: { name: 'Waiting', tone: 'plain' },
  reading: { name: 'Reading', tone: 'busy' },
  planned: { name: 'Planned', tone: 'busy' },
  delivering: { name: 'Delivering', tone: 'busy' },
  held: { name: 'Held', tone: 'wait' },
  unchanged: { name: 'Nothing to change', tone: 'good' },
  finished: { name: 'Finished', tone: 'good' },
  finished_with_problems: { name: 'Finished with problems', tone: 'wait' },
  rejected: { name: 'Rejected', tone: 'plain' },
  superseded: { name: 'Superseded', tone: 'plain' },
  failed: { name: 'Failed', tone: 'bad' },
  cancelled: { name: 'Cancelled', tone: 'plain' },
}

/** Who or what started a run. */
export const triggers: Readonly<Record<Run['trigger'], string>> = {
  schedule: 'the schedule',
  operator: 'a person',
  file: 'a new file',
  webhook: 'an event',
  repair: 'an automatic repair',
}

/** The kinds of change, most harmful first if they are wrong. */
export const kinds: readonly {
  readonly kind: Kind
  readonly title: string
  readonly one: string
  readonly many: string
  readonly tone: Tone
  /** What an approval does, as a verb before the people. */
  readonly does: string
}[] = [
  { kind: 'leave', title: 'Leavers', one: 'leaver', many: 'leavers', tone: 'bad', does: 'separates' },
  { kind: 'return', title: 'Returns', one: 'return', many: 'returns', tone: 'wait', does: 'brings back' },
  { kind: 'retract', title: 'Retractions', one: 'retraction', many: 'retractions', tone: 'bad', does: 'deletes' },
  {
    kind: 'correct',
    title: 'Corrections',
    one: 'correction',
    many: 'corrections',
    tone: 'wait',
    does: 'corrects the leaving date of',
  },
  { kind: 'join', title: 'Joiners', one: 'joiner', many: 'joiners', tone: 'good', does: 'adds' },
  { kind: 'update', title: 'Movers', one: 'mover', many: 'movers', tone: 'plain', does: 'changes' },
]

/** The state of a run as a badge. */
export function stateBadge({ state }: Pick<Run, 'state'>): Html {
  const { name, tone } = runStates[state]
  return badge(name, tone)
}

/** A kind of change as a badge. */
export function kindBadge(kind: Kind): Html {
  const match = kinds.find((one) => one.kind === kind)
  return badge(match ? capital(match.one) : kind, match?.tone)
}

/** `2 leavers, 3 joiners`: the kinds that are not zero; null if all are. */
export function countsText(counts: Counts | null): string | null {
  const changes = plannedKinds(counts).map(({ count, one, many }) => pluralize(count, one, many))
  return changes.length === 0 ? null : changes.join(', ')
}

/** The number of changes in a plan; unchanged and rejected rows are not counted. */
export function countChanges(counts: Counts | null): number {
  return counts === null ? 0 : kinds.reduce((sum, { kind }) => sum + counts[kind], 0)
}

const listFormat = new Intl.ListFormat('en-GB')

/** `separates 2 people and adds 3 people`: the effect of a plan on the platform, by kind. */
export function effectsText(counts: Counts | null): string {
  return listFormat.format(
    plannedKinds(counts).map(({ count, does }) => `${does} ${pluralize(count, 'person', 'people')}`),
  )
}

/** One figure for each kind of change in the plan. `employed`: the number of employed people, for the note on leavers. */
export function kindFigures(counts: Counts | null, employed: number | null = null) {
  return plannedKinds(counts).map(({ kind, title, tone, count }) => ({
    name: title,
    value: number(count),
    note: kind === 'leave' && employed ? `of ${number(employed)} employed now` : null,
    ...((tone === 'bad' || tone === 'wait') && { tone }),
  }))
}

function plannedKinds(counts: Counts | null) {
  return kinds.map((one) => ({ ...one, count: counts?.[one.kind] ?? 0 })).filter(({ count }) => count > 0)
}

/** The page on which the first connection is made. */
export const firstVisitHref = '/connect'

/** The address of a connection. */
export function connectionHref(connection: string): string {
  return `/connections/${encodeURIComponent(connection)}`
}

/** The address of a run. */
export function runHref(runId: string): string {
  return `/runs/${encodeURIComponent(runId)}`
}

/** The address of a person. */
export function personHref({ connection, identityId }: { connection: string; identityId: string }): string {
  return `/person?${new URLSearchParams({ connection, key: identityId }).toString()}`
}

/** A key as a link to its person. */
export function personLink(person: { readonly connection: string; readonly identityId: string }): Html {
  return html`<a class="key" href="${personHref(person)}">${person.identityId}</a>`
}

/** A key as a link; a note if the key could not be read. */
export function keyCell(connection: string, identityId: string | null): Html {
  return identityId === null
    ? html`<span class="faint">key not readable</span>`
    : personLink({ connection, identityId })
}

type ListedPerson = {
  readonly connection: string
  readonly identityId: string | null
  readonly name?: string | null
}

/** A person in a list of several connections, with the name if it may be shown. */
export function personCell({ connection, identityId, name }: ListedPerson): Html {
  return html`${name && html`<span class="name">${name}</span> `}${keyCell(connection, identityId)} <span class="hint">${connection}</span>`
}

const notKept = html`<span class="faint">no longer stored</span>`
const hidden = html`<span class="faint">hidden</span>`
const none = html`<span class="faint">none</span>`
const dateFields: ReadonlySet<string> = new Set(['startedAt', 'separatedAt'])

/** The value of a field as text. */
export function valueText(name: string, value: RecordView[string] | undefined): Renderable {
  if (value === null || value === undefined || value === '') return none
  if (typeof value === 'object') return hidden
  if (typeof value === 'boolean') return value ? 'yes' : 'no'
  return dateFields.has(name) && !Number.isNaN(Date.parse(value)) ? day(value) : value
}

const fieldNames: Readonly<Record<string, string>> = {
  identityId: 'Key',
  email: 'E-mail',
  firstName: 'First name',
  lastName: 'Last name',
  jobTitle: 'Job title',
  managerId: 'Manager’s key',
  managerName: 'Manager',
  isContractor: 'Contractor',
  startedAt: 'First day',
  separatedAt: 'Last day',
}

/** The label of a field. */
export function fieldName(name: string): string {
  return fieldNames[name] ?? spaced(name)
}

/** `emailChanges` as `Email changes`. */
export function spaced(name: string): string {
  return capital(name.replaceAll(/([A-Z])/g, ' $1').toLowerCase())
}

/** The changes to the fields of a person, as a list. */
export function fieldsText(fields: Readonly<Record<string, FieldChange>> | undefined): Html {
  return html`<ul class="list">${Object.entries(fields ?? {}).map(([name, change]) => html`<li><span class="faint">${fieldName(name)}</span> ${changeText(name, change)}</li>`)}</ul>`
}

function changeText(name: string, change: FieldChange): Html {
  if ('gone' in change) return notKept
  if ('hidden' in change) return hidden
  const to = html`${valueText(name, change.to)}${change.inferred && html` <span class="faint">(inferred)</span>`}`
  return change.from === null ? html`<ins>${to}</ins>` : difference(valueText(name, change.from), to)
}

const changeStates: Readonly<Record<string, string>> = {
  planned: 'Planned',
  due: 'To be delivered',
  confirmed: 'Acknowledged',
  problem: 'Problem',
  dropped: 'Not sent',
}

/** The state of a change and the response of the platform. */
export function answerText({ state, sentAt, answeredAt, answer }: PersonChange): Html {
  const name = changeStates[state] ?? capital(state)
  if (answer === null) return html`${name}${sentAt && html`<span class="hint">sent ${formatInstant(sentAt)}</span>`}`
  return html`${name}<span class="hint">the platform answered ${String(answer.status)}${answeredAt && html` on ${formatInstant(answeredAt)}`}${answer.message !== undefined && html`: ${answer.message}`}</span>`
}

/** The name of a person; null if it is unknown or hidden. */
export function nameOf(person: RecordView | null | undefined): string | null {
  // A record with a custom schema has a label, whose field name begins with a dot.
  const label = Object.keys(person ?? {}).filter((field) => field.startsWith('.'))
  const name = ['firstName', 'lastName', ...label].flatMap((part) => textOf(person, part) ?? [])
  return name.length === 0 ? null : name.join(' ')
}

/** Title, manager and e-mail address of a person; null if they are hidden. */
export function aboutText(person: RecordView | null | undefined): Html | null {
  const manager = textOf(person, 'managerName') ?? textOf(person, 'managerId')
  const parts = [textOf(person, 'jobTitle'), manager && `manager ${manager}`, textOf(person, 'email')]
  return parts.every((part) => part === null) ? null : html`<span class="address">${joined(parts, ' · ')}</span>`
}

/** Name, key as a link, and below them title, manager and e-mail address. */
export function whoText(
  named: { readonly connection: string; readonly identityId: string },
  person: RecordView | undefined,
): Html {
  const name = nameOf(person)
  return html`${name !== null && html`<span class="name">${name}</span> `}${personLink(named)}${aboutText(person)}`
}

function textOf(person: RecordView | null | undefined, field: string): string | null {
  const value = person?.[field]
  return typeof value === 'string' && value !== '' ? value : null
}

/** The title of each kind of alert. */
export const alertTitles: Readonly<Record<Alert['kind'], string>> = {
  blocked: 'Blocked by the platform',
  overdue: 'A run is overdue',
  repeated: 'A batch keeps failing',
  held: 'A plan waits for a decision',
  expiring: 'A held plan expires soon',
  run_failed: 'The last run failed',
  problems: 'People cannot be delivered',
  blockedPeople: 'People may have left',
  foreign: 'People on the platform are unknown to HR',
  leaver_late: 'A departure is late',
  emergency: 'A departure was stated by one person alone',
  stated_departures: 'A stated departure needs a decision',
  unaccounted: 'Not everybody is accounted for',
  not_effective: 'The status of people on the platform does not match HR’s data',
  directory: 'Accounts do not match HR’s data',
  paused: 'Paused by a person',
  hr_mail: 'Mail to HR fails',
  settings_differ: 'Processes have different settings',
  stale: 'The data from HR is too old',
}

/** Capitalizes a text, unless its first word is a path, an address or the name of a setting. */
export function capital(text: string): string {
  const [first = ''] = text.split(/\s/, 1)
  if (/[./\\_]\S|:\d|[a-z][A-Z]/.test(first)) return text
  return `${text[0]?.toUpperCase() ?? ''}${text.slice(1)}`
}

/** `3 of 12,000`; only the number if there is no whole. */
export function among(part: number, whole: number | null): string {
  return whole === null ? number(part) : `${number(part)} of ${number(whole)}`
}

/** The field for the reason of an action; required. */
export function reasonField(fields: (name: string) => string): Html {
  return textField({
    name: 'reason',
    label: 'Reason',
    hint: 'Recorded in the audit trail. Do not write names of people.',
    value: fields('reason'),
    required: true,
    maxLength: 500,
  })
}

/** The filter by connection. A chosen connection that no longer exists stays in the list. */
export function connectionField(connections: readonly string[], chosen: string): Html {
  const names = new Set(chosen === '' ? connections : [...connections, chosen])
  return selectField({
    name: 'connection',
    label: 'Connection',
    options: [{ value: '', name: 'All' }, ...[...names].map((name) => ({ value: name, name }))],
    value: chosen,
  })
}

/** A failure's message as a sentence of a page. A file name at its beginning keeps its spelling. */
export function sentence(message: string, file = ''): string {
  const beginsWithFile = file !== '' && message.startsWith(file)
  const text = beginsWithFile ? message : capital(message)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** Guards whose names say too little on a page. The name stays beside the words, so that the docs can be searched for it. */
const guardNames: Readonly<Record<string, string>> = {
  zeroRows: 'Rows in the source',
  unlistedValues: 'Values without a meaning',
  absentUnderHold: 'People missing from the source',
  leftJoiners: 'Joiners who have left already',
  unnamedJoiners: 'Joiners without a name or e-mail',
  sameStart: 'Same first day',
  sameLeaving: 'Same last day',
  redates: 'Changed leaving dates',
  contractorFlips: 'Changes between contractor and employee',
  emailChanges: 'Changed e-mail addresses',
  fieldChanges: 'Changes of one field',
  blanks: 'Cleared values',
  pinned: 'Pinned people',
  rekeyed: 'New keys',
  outOfScope: 'People no longer in scope',
  leftUnapproved: 'Left out of an approved part',
  shrinkRows: 'Missing rows',
  shrinkBytes: 'Missing bytes',
  endMissing: 'Missing end of the export',
  staleExport: 'Older export',
}

/** The name of a guard on a page. */
export function guardName(guard: string): string {
  const name = guardNames[guard]
  return name === undefined ? spaced(guard) : `${name} (${guard})`
}

const guardBeforeReason = new RegExp(`(^|[:;] )([a-z]+(?:[A-Z][a-z]+)+|${Object.keys(guardNames).join('|')}): `, 'g')

/** Why a plan is held, with the guards in words: `endMissing: …` becomes `missing end of the export (endMissing): …`. */
export function guardsInWords(reason: string): string {
  return reason.replaceAll(
    guardBeforeReason,
    (_found, before: string, guard: string) => `${before}${uncapitalized(guardName(guard))}: `,
  )
}

function uncapitalized(text: string): string {
  return `${text[0]?.toLowerCase() ?? ''}${text.slice(1)}`
}

/** A text of the API with its commands, which are between backticks, as code. */
export function withCode(text: string): Html {
  const parts = text.split(/`([^`]+)`/)
  return html`${parts.map((part, at) => (at % 2 === 1 ? code(part) : part))}`
}

const shortIdLength = 8

/** The first characters of a run's ID, which commands accept too. */
export function shortId(runId: string): Html {
  return html`<span class="key" title="${runId}">${runId.slice(0, shortIdLength)}</span>`
}
