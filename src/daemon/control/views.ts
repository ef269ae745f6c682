import type {
  BlockedPerson,
  ChangeView,
  ClassifiedValue,
  FieldChange,
  Person,
  PersonAccount,
  PersonChange,
  PlanDocument,
  Problem,
  RecordView,
  RejectView,
  RunSummary,
} from '../../contract/control/shapes.ts'
import type { Change, FieldChanges, FieldValue } from '../../identity/change.ts'
import type { CellAccount } from '../../identity/mapping/row-account.ts'
import { type FieldName, fieldsOf, type IdentityRecord, type Origin, type OwnField } from '../../identity/record.ts'
import type { ClassifiedValueEntry } from '../../store/classified-values.ts'
import type { Problem as StoredProblem } from '../../store/deliveries/problems.ts'
import type { AccountedChange, personOf, StoredReject } from '../../store/history/history.ts'
import type { RunSummary as StoredSummary } from '../../store/plans/summary.ts'
import type { BlockedPersonCursor, BlockedPerson as StoredBlockedPerson } from '../../store/rejects/blocked-people.ts'
import type { WaitingRow } from '../../store/roster/waiting.ts'
import type { PersonAccount as StoredAccount } from '../../store/schema.ts'
import type { PlanDocument as PreparedPlan, SyncContext } from '../../sync/sync.ts'

/** An operator decides by the dates of employment. Every other field is personal and shown on request only. */
const openFields: ReadonlySet<string> = new Set(['identityId', 'startedAt', 'separatedAt'])
const hidden = { hidden: true } as const

type ViewOptions = {
  readonly values: boolean
  /** The property that labels custom records. */
  readonly label?: OwnField | null
}

/** The label of a connection's records; null for people, who have names. */
export function labelOf({ connections }: Pick<SyncContext, 'connections'>, name: string): OwnField | null {
  const target = connections.get(name)?.target
  return target && 'type' in target ? `.${target.displayNameKey}` : null
}

/** The fields that identify a person. */
export function namingFields(label: OwnField | null): readonly FieldName[] {
  return label === null ? personFields : [label]
}

/** Who a person is, as far as those who decide about them need it. */
const personFields = ['firstName', 'lastName', 'jobTitle', 'managerName', 'managerId', 'email'] as const

/** The kinds of change that are judged person by person. */
const judgedKinds: ReadonlySet<string> = new Set(['leave', 'return', 'retract'])

/** A change as the control API shows it. `record`: the person of a retraction. */
export function changeView(
  change: Change,
  {
    origin = null,
    record = null,
    ...showing
  }: ViewOptions & { origin?: Origin | null; record?: IdentityRecord | null },
): ChangeView {
  const { kind, identityId, carried } = change
  const person = (of: IdentityRecord | null) =>
    showing.values &&
    of !== null &&
    judgedKinds.has(kind) && { person: shownPerson(of, namingFields(showing.label ?? null)) }
  if (kind === 'retract') return { kind, identityId, reason: change.reason, ...person(record), carried }
  const why = evidenceOf(change, origin)
  const fields = fieldsView(change.fields, showing)
  return { kind, identityId, fields, ...(why !== null && { why }), ...person(change.record), carried }
}

/** The known values of a person in these fields. */
export function shownPerson(record: IdentityRecord, fields: readonly FieldName[]): RecordView {
  return Object.fromEntries(
    fields.flatMap((name) => {
      const value = record[name]
      return value ? [[name, value]] : []
    }),
  )
}

/** The evidence for a departure, a return or another leaving date, and its origin; null for other changes. */
function evidenceOf(change: Exclude<Change, { kind: 'retract' }>, origin: Origin | null): string | null {
  const at = originText(origin)
  const originSuffix = at === null ? '' : `: ${at}`
  switch (change.kind) {
    case 'leave':
    case 'correct':
      if (!change.inferred) return at === null ? 'a date that was stated before' : `the date is stated${originSuffix}`
      return at === null ? 'missing from the source' : `has left, without a date${originSuffix}`
    case 'return':
      return `employed again${originSuffix}`
    case 'join':
    case 'update':
      return null
    default:
      return change.kind satisfies never
  }
}

/** A summary as the control API shows it. Counts, dates and domains are open. */
export function summaryView({ fields, managers, managersCount }: StoredSummary, { values }: ViewOptions): RunSummary {
  const shownField = (name: string) => values || openFields.has(name)
  return {
    fields: fields.map((summary) => ({
      ...summary,
      values: summary.values.map(({ from, to, people }) => {
        const view = (value: FieldValue) => (shownField(summary.field) ? value : concealed(value))
        return { from: view(from), to: view(to), people }
      }),
    })),
    managers: managers.map((summary) => ({
      ...summary,
      manager: values ? summary.manager : concealed(summary.manager),
    })),
    managersCount,
  }
}

function concealed<T>(value: T | null): typeof hidden | null {
  return value === null ? null : hidden
}

/** A rejected row, or a cell that could not be read, as the control API shows it. */
export function rejectView({ line, event, column, reason, identityId, cellOnly, mayLeave }: StoredReject): RejectView {
  const shown = { line, ...(event !== undefined && { event }), column, reason, identityId, cellOnly, mayLeave }
  return { level: shown.cellOnly ? 'warning' : 'rejected', ...shown }
}

/** What a person said of a value, as the control API shows it. */
export function classifiedValueView({
  field,
  value,
  meaning,
  by,
  classifiedAt,
}: ClassifiedValueEntry): ClassifiedValue {
  return { field, value, as: meaning, by, at: classifiedAt.toISOString() }
}

/** A plan with those of the linked connections. */
export function plansView(
  ctx: Pick<SyncContext, 'connections'>,
  { also, ...plan }: PreparedPlan,
  showing: ViewOptions,
): PlanDocument {
  const view = (one: Omit<PreparedPlan, 'also'>) => planView(one, { ...showing, label: labelOf(ctx, one.connection) })
  return { ...view(plan), ...(also && { also: also.map(view) }) }
}

/** A plan as the control API shows it. */
export function planView<T extends Omit<PreparedPlan, 'kept' | 'also'>>(plan: T, showing: ViewOptions) {
  const changes = plan.changes.map(({ change, origin }) => changeView(change, { ...showing, origin }))
  return {
    ...plan,
    guards: [...plan.guards],
    warnings: [...plan.warnings],
    rejects: plan.rejects.map(rejectView),
    changes,
  }
}

/** A problem as the control API shows it. The connection's next run tries again the people that the platform refused. */
export function problemView(
  problem: StoredProblem,
  { now, nextRunAt }: { now: Date; nextRunAt: string | null },
): Problem {
  return {
    ...problem,
    ageSeconds: secondsSince(problem.firstAt, now),
    nextAt: problem.nextAt ?? nextRunAt,
  }
}

/** A blocked person as the control API shows it. */
export function blockedPersonView(
  { cursor: _, ...person }: StoredBlockedPerson & { readonly cursor: BlockedPersonCursor },
  now: Date,
): BlockedPerson {
  return { ...person, ageSeconds: secondsSince(person.firstAt, now) }
}

/** A person as the control API shows it. */
export function personView(
  { connection, identityId }: { connection: string; identityId: string },
  { entry, keys, changes, waiting, overtaken }: NonNullable<Awaited<ReturnType<typeof personOf>>>,
  showing: ViewOptions,
): Omit<Person, 'leavers' | 'heldBack' | 'statedDeparture'> {
  return {
    connection,
    identityId,
    desired: recordView(entry?.desired ?? null, showing),
    // Deprecated: removed after 0.1.
    wanted: recordView(entry?.desired ?? null, showing),
    confirmed: recordView(entry?.confirmed ?? null, showing),
    due: dueFields(entry?.desired ?? null, entry?.confirmed ?? null),
    asOf: entry?.asOf ?? null,
    inferred: entry?.inferred ?? false,
    deferredTo: entry?.deferredTo ?? null,
    absences: entry?.absences ?? 0,
    retracted: entry?.retracted ?? null,
    waiting: waiting.map(waitingView),
    keys,
    ...(entry?.forgotten && { forgotten: true }),
    ...(overtaken.length > 0 && { overtaken }),
    changes: changes.map((change) => personChangeView(change, showing)),
  }
}

/** The subject of a waiting row. Its values are shown once they apply. */
function waitingView({ effectiveOn, observation }: WaitingRow): Person['waiting'][number] {
  const { statesDeparture, leavingDate = null, fields } = observation
  return { effectiveOn, leaves: statesDeparture || leavingDate !== null, leavingDate, fields: Object.keys(fields) }
}

/** The result of a run of one person, as the control API shows it. The key is not a personal value. */
export function personAccountView(
  { rows, ...account }: StoredAccount,
  change: AccountedChange | null,
  showing: ViewOptions,
): PersonAccount {
  return {
    ...account,
    evidence: [...account.evidence],
    rows: rows.map(({ origin, reason, cells }) => ({
      place: originText(origin) ?? '',
      reason,
      cells: cells.map((cell) => cellView(cell, showing)),
    })),
    delivery: change && personChangeView(change, showing),
  }
}

function cellView(
  { text, value, ...cell }: CellAccount,
  { values }: ViewOptions,
): PersonAccount['rows'][number]['cells'][number] {
  // If columns have moved, a cell that is not a date may hold anything.
  const isShown = values || (openFields.has(cell.field) && cell.reason === null)
  const normalised = text !== null && typeof value === 'string' && !worded.has(cell.field) && text !== value
  return {
    ...cell,
    text: text === null || isShown ? text : hidden,
    // The meaning of a status or an action says no more than the decision does.
    value: value === null || isShown || worded.has(cell.field) ? value : hidden,
    normalised,
  }
}

/** What these cells say is read as one of few words. */
const worded: ReadonlySet<string> = new Set(['status', 'action'])

/** Whole seconds from an instant to now. */
export function secondsSince(instant: string, now: Date): number {
  return Math.max(0, Math.floor((now.getTime() - Date.parse(instant)) / 1000))
}

function personChangeView(accounted: AccountedChange, showing: ViewOptions): PersonChange {
  const { kind, fields, reason } = changeView(accounted.change, showing)
  return {
    runId: accounted.runId,
    kind,
    state: accounted.state,
    ...(fields && { fields }),
    ...(reason !== undefined && { reason }),
    source: originText(accounted.origin),
    plannedAt: accounted.plannedAt,
    sentAt: accounted.sentAt,
    answeredAt: accounted.answeredAt,
    answer: accounted.answer,
  }
}

function fieldsView(fields: FieldChanges, { values }: ViewOptions): Record<string, FieldChange> {
  return Object.fromEntries(
    fieldsOf(fields).flatMap((name): [string, FieldChange][] => {
      const change = fields[name]
      if (!change) return []
      const { from, to, inferred } = change
      if (change.gone) return [[name, { gone: true }]]
      if (!values && !openFields.has(name)) return [[name, hidden]]
      return [[name, { from, to, ...(inferred && { inferred }) }]]
    }),
  )
}

function recordView(record: IdentityRecord | null, { values }: ViewOptions): RecordView | null {
  if (record === null) return null
  return Object.fromEntries(
    (['identityId', ...fieldsOf(record)] as const).flatMap((name) => {
      const value = record[name]
      if (value === undefined) return []
      return [[name, values || value === null || openFields.has(name) ? value : hidden] as const]
    }),
  )
}

function dueFields(desired: IdentityRecord | null, confirmed: IdentityRecord | null): string[] {
  const known: Readonly<Record<string, unknown>> = confirmed ?? {}
  return Object.entries(desired ?? {}).flatMap(([name, value]) => ((known[name] ?? null) === value ? [] : [name]))
}

function originText(origin: Origin | null): string | null {
  if (origin === null) return null
  return 'file' in origin ? `${origin.file}:${origin.line}` : `event ${origin.event}, item ${origin.line}`
}
