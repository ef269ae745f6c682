import { othersGoOnText } from '../../contract/control/left-out.ts'
import type {
  ChangeView,
  FieldChange,
  PlanDocument,
  RejectView,
  RunSummary,
  Verdict,
} from '../../contract/control/shapes.ts'
import {
  day,
  escapeText,
  formatInstant,
  levelMark,
  number,
  type Paint,
  pluralize,
  type Style,
  shorten,
} from './text.ts'

type Kind = ChangeView['kind']

/**
 * How each kind of change is shown, the most harmful mistakes first. Leavers, returners and retracted people are always named; long lists
 * of additions are cut.
 */
const sections: readonly { kind: Kind; title: string; sign: string; style: Style; cut: boolean }[] = [
  { kind: 'leave', title: 'Leavers', sign: '-', style: 'red', cut: false },
  { kind: 'return', title: 'Returns', sign: '>', style: 'green', cut: false },
  { kind: 'retract', title: 'Retractions', sign: 'x', style: 'red', cut: false },
  { kind: 'correct', title: 'Corrections', sign: '=', style: 'yellow', cut: false },
  { kind: 'join', title: 'Joiners', sign: '+', style: 'green', cut: true },
  { kind: 'update', title: 'Movers', sign: '~', style: 'cyan', cut: true },
]
const shownAdditions = 50

/** A plan is read for the dates of employment; they are shown even if personal values are not. */
const dateFields: readonly string[] = ['startedAt', 'separatedAt']

/**
 * A plan as text: who joins, changes and leaves, the verdicts of the guards, and the rejected rows. `also`: the plans of linked connections,
 * which read the same export.
 */
export function renderPlan({ also = [], ...plan }: PlanDocument, paint: Paint): string {
  return blocks([
    heading(plan, paint),
    renderGuards(plan.guards, paint),
    plan.leftOut === undefined ? '' : paint('yellow', `${othersGoOnText(plan.leftOut)}.`),
    plan.changes.length === 0 ? 'Nothing to change.' : renderChanges(plan.changes, paint),
    renderWarnings(plan.warnings, paint),
    renderRejects(plan.rejects, plan.source?.name ?? 'source', paint),
    ...also.map((other) => renderPlan(other, paint)),
  ])
}

/** The changes in sections, by person. `counts`: the number of changes of each kind if `changes` holds only the first ones. */
export function renderChanges(
  changes: readonly ChangeView[],
  paint: Paint,
  counts?: { readonly [K in Kind]: number },
): string {
  return blocks(
    sections.map((section) => {
      const members = changes.filter((change) => change.kind === section.kind)
      const all = counts?.[section.kind] ?? members.length
      if (members.length === 0) return ''
      const named = section.cut ? members.slice(0, shownAdditions) : members
      const lines = named.flatMap((change) => [
        `  ${paint(section.style, section.sign)} ${renderChange(change)}`,
        ...aboutPerson(change).map((line) => `      ${line}`),
      ])
      if (named.length < all) {
        lines.push(paint('dim', `    … and ${number(all - named.length)} more, listed with --json`))
      }
      return [paint('bold', `${section.title} (${number(all)})`), ...lines].join('\n')
    }),
  )
}

/** Who the person is, if that may be shown, and why the change is planned. */
function aboutPerson({ person = {}, why }: ChangeView): string[] {
  const value = (field: string) => (typeof person[field] === 'string' ? shorten(person[field], maxValueLength) : null)
  // The label of a custom record has a name that begins with a dot.
  const label = Object.keys(person).filter((field) => field.startsWith('.'))
  const name = [value('firstName'), value('lastName'), ...label.map(value)].filter((part) => part !== null).join(' ')
  const manager = value('managerName') ?? value('managerId')
  const parts = [name || null, value('jobTitle'), manager && `manager ${manager}`, value('email')]
  const who = parts.filter((part) => part !== null).join(' · ')
  return [...(who === '' ? [] : [who]), ...(why === undefined ? [] : [escapeText(why)])]
}

/** A value cut so that others fit beside it. */
const maxValueLength = 60

/** The changes of a large plan by field, and the managers whose people leave. */
export function renderSummary({ fields, managers, managersCount }: RunSummary, paint: Paint): string {
  const byField = fields.flatMap((field) => [
    `  ${escapeText(field.field)}: ${pluralize(field.people, 'person', 'people')}${field.blanked > 0 ? `, ${number(field.blanked)} lose it` : ''}${field.filled > 0 ? `, ${number(field.filled)} get it first` : ''}`,
    ...field.ways.map(({ way, people }) => `      ${number(people)}: ${escapeText(way)}`),
    ...(field.ways.length > 0 ? [] : field.values.flatMap(replacement)),
    `      such as ${field.examples.map(escapeText).join(', ')}`,
  ])
  const more = managersCount - managers.length
  const byManager = managers.map(({ manager, leavers, examples }) => {
    // An object stands for a value that is hidden.
    const who =
      manager === null
        ? 'no manager'
        : typeof manager === 'object'
          ? 'a manager'
          : shorten(String(manager), maxValueLength)
    return `  ${who}: ${pluralize(leavers, 'leaver')}, such as ${examples.map(escapeText).join(', ')}`
  })
  return blocks([
    byField.length === 0 ? '' : [paint('bold', 'By field'), ...byField].join('\n'),
    byManager.length === 0
      ? ''
      : [
          paint('bold', 'By manager'),
          ...byManager,
          ...(more > 0 ? [`  … and ${number(more)} more managers`] : []),
        ].join('\n'),
  ])
}

function replacement({ from, to, people }: RunSummary['fields'][number]['values'][number]): string[] {
  // Hidden values are objects.
  if (typeof from === 'object' && from !== null) return []
  if (typeof to === 'object' && to !== null) return []
  const text = (value: string | boolean | null) =>
    typeof value === 'string' ? `"${shorten(value, maxValueLength)}"` : (value ?? 'none')
  return [`      ${number(people)}: ${text(from)} → ${text(to)}`]
}

/** What an operator should check in the source, a line each. */
export function renderWarnings(warnings: readonly string[], paint: Paint): string {
  return warnings.map((warning) => `  ${levelMark('warning', paint)} ${escapeText(warning)}`).join('\n')
}

/** The verdicts of the guards: each that holds the plan with its reason, and one line about those that passed. `title` stands above them. */
export function renderGuards(guards: readonly Verdict[], paint: Paint, title = 'Guards'): string {
  if (guards.length === 0) return ''
  const failed = guards.filter(({ ok }) => !ok)
  const passed = guards.filter(({ ok }) => ok)
  const width = Math.max(...failed.map((guard) => guard.name.length))
  const lines = failed.flatMap((guard) => {
    const below = [...(guard.hints ?? []), ...(guard.people ? [`such as ${guard.people.join(', ')}`] : [])]
    return [
      `  ${paint('red', '✖')} ${escapeText(guard.name.padEnd(width))}  ${verdictText(guard)}`.trimEnd(),
      ...below.map((line) => `${' '.repeat(width + 6)}${escapeText(line)}`),
    ]
  })
  if (passed.length > 0) lines.push(`  ${paint('green', '✔')} ${passedText(passed)}`)
  return [paint('bold', title), ...lines].join('\n')
}

/** The rejected rows and bad cells, one line each; empty if there are none. */
export function renderRejects(rejects: readonly RejectView[], file: string, paint: Paint): string {
  if (rejects.length === 0) return ''
  const lines = rejects.map((reject) => `  ${levelMark(reject.level, paint)} ${escapeText(rejectText(reject, file))}`)
  return [paint('bold', `Rejected rows and bad cells (${number(rejects.length)})`), ...lines].join('\n')
}

/** One field's difference: `separatedAt → 2026-11-20 (inferred)`; only its name where the value is hidden. */
export function renderField(name: string, change: FieldChange): string {
  const field = escapeText(name)
  if ('gone' in change) return `${field} (value not kept)`
  if ('hidden' in change) return field
  const show = dateFields.includes(name) ? dateText : valueText
  const from = change.from === null ? '' : ` ${show(change.from)}`
  const inferred = change.inferred ? ' (inferred)' : ''
  return `${field}${from} → ${show(change.to)}${inferred}`
}

function heading(plan: PlanDocument, paint: Paint): string {
  const { unchanged, rejected, incomplete } = plan.counts
  return [
    `${paint('bold', plan.connection)} · ${plan.source ? escapeText(plan.source.name) : 'nothing new'} · as of ${formatInstant(plan.asOf)}`,
    `${pluralize(plan.rows, 'row')}, ${pluralize(plan.records, 'record')}, ${number(rejected)} rejected, ${number(incomplete)} with a bad cell, ${number(unchanged)} unchanged`,
  ].join('\n')
}

function renderChange(change: ChangeView): string {
  const fields = Object.entries(change.fields ?? {}).map(([name, field]) => renderField(name, field))
  const details = change.reason === undefined ? fields : [escapeText(change.reason), ...fields]
  const carried = change.carried ? ['(still due from an earlier run)'] : []
  return [escapeText(change.identityId), '', details.join(', '), ...carried].join(' ').trimEnd()
}

function verdictText({ reason, actual, limit }: Verdict): string {
  if (reason !== undefined) return escapeText(reason)
  return limit === null ? number(actual) : countOf(actual, limit)
}

/** Names those that counted something, because it is below their limit only. */
function passedText(passed: readonly Verdict[]): string {
  const counted = passed.flatMap(({ name, actual, limit }) =>
    limit === null || actual === 0 ? [] : [`${escapeText(name)} ${countOf(actual, limit)}`],
  )
  return `${pluralize(passed.length, 'guard')} passed${counted.length === 0 ? '' : `: ${counted.join(' · ')}`}`
}

function countOf(actual: number, limit: number): string {
  return `${number(actual)} of at most ${number(limit)}`
}

function rejectText({ line, event, column, reason }: RejectView, file: string): string {
  const location = event === undefined ? `${file}:${line}` : `event ${event}, item ${line}`
  return `${location}: ${column === null ? '' : `${column}: `}${reason}`
}

type Value = string | boolean | null

function dateText(value: Value): string {
  return typeof value === 'string' ? escapeText(day(value)) : 'none'
}

function valueText(value: Value): string {
  if (value === null) return 'none'
  return typeof value === 'string' ? `"${escapeText(value)}"` : String(value)
}

function blocks(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n')
}
