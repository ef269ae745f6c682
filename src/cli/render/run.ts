import { feedText } from '../../contract/control/feed-texts.ts'
import { heldPartOutcome } from '../../contract/control/held-part-texts.ts'
import type { Counts, InDoubtCounts, Run, Verification } from '../../contract/control/shapes.ts'
import { renderGuards, renderWarnings } from './plan.ts'
import { blockedPeopleText, countsText, doubtText, foreignText, peopleAndRows } from './tallies.ts'
import {
  alignColumns,
  duration,
  escapeText,
  formatInstant,
  number,
  type Paint,
  pluralize,
  roomIn,
  type Style,
  shortId,
  wrapWords,
} from './text.ts'

const stateStyles: Readonly<Record<Run['state'], Style>> = {
  waiting: 'dim',
  reading: 'cyan',
  planned: 'cyan',
  delivering: 'cyan',
  held: 'yellow',
  unchanged: 'green',
  finished: 'green',
  finished_with_problems: 'yellow',
  rejected: 'dim',
  superseded: 'dim',
  failed: 'red',
  cancelled: 'dim',
}

/** One run with everything known about it except its changes and rejects. */
export function renderRun(run: Run, paint: Paint): string {
  const facts = alignColumns(
    runFacts(run),
    (cell, _row, column) => (column === 0 ? paint('dim', cell) : cell),
    roomIn(paint, 2),
  )
  const title = `${paint('bold', `run ${run.id}`)} · ${run.connection} · ${stateText(run, paint)}`
  const guards = run.guards ? renderGuards(run.guards, paint) : ''
  const blocks = [renderWarnings(run.warnings, paint), guards].flatMap((block) => (block === '' ? [] : ['', block]))
  return [title, ...facts.map((line) => `  ${line}`), ...blocks].join('\n')
}

/** What has to be decided about a held run: its totals in a line, and the verdicts of the guards. */
export function renderJudgement(run: Run, paint: Paint): string {
  const nothing = run.heldPartOf ? `without them run ${shortId(run.heldPartOf)} went on` : 'nothing new was read'
  const source = run.source === null ? nothing : escapeText(run.source.name)
  const rejected = (run.counts?.rejected ?? 0) + (run.counts?.incomplete ?? 0)
  const notes = [
    ...(run.moved === null ? [] : [`${escapeText(run.moved)}; after an approval, Rollcall plans again`]),
    ...(run.expiresAt === null ? [] : [`It can be approved until ${formatInstant(run.expiresAt)}.`]),
    ...(run.requestedBy.length === 0 ? [] : [`Requested by ${escapeText(run.requestedBy.join(', '))}.`]),
    ...(rejected === 0 ? [] : [`rollcall run ${shortId(run.id)} lists the rows that cannot be read.`]),
  ]
  const failed = renderGuards(
    (run.guards ?? []).filter(({ ok }) => !ok),
    paint,
    'Held because of',
  )
  return [
    `${paint('bold', run.connection)} · ${source}${run.asOf === null ? '' : ` · as of ${formatInstant(run.asOf)}`}`,
    run.counts ? countsText(leaversFirst(run.counts)) : '',
    ...notes.map((note) => paint('dim', note)),
    ...(failed === '' ? [] : ['', failed]),
  ].join('\n')
}

/** The counts in the order in which the people are shown. */
function leaversFirst({ leave, return: returns, retract, correct, ...others }: Counts): Counts {
  return { leave, return: returns, retract, correct, ...others }
}

const differences = [
  ['lost', 'Lost: the platform no longer has them; they are sent again'],
  ['changed', 'Changed: their record differs from what the platform acknowledged; they are sent again'],
  ['foreign', 'Foreign: only the platform has them; they are not changed'],
] as const

const keysWidth = 100
const indent = 2

/** The people whose record on the platform differs from what it should be, by kind; empty if nobody's does. */
export function renderVerification(verification: Verification, paint: Paint): string {
  const blocks = differences.flatMap(([kind, title]) => {
    const keys = verification.people?.[kind] ?? []
    if (keys.length === 0) return []
    const more = verification[kind] - keys.length
    const keyTexts = [...keys.map(escapeText), ...(more > 0 ? [`and ${number(more)} more`] : [])]
    const head = `${title} (${number(verification[kind])})`
    return [
      [paint('bold', head), ...wrapWords(keyTexts, roomIn(paint, indent) ?? keysWidth).map((line) => `  ${line}`)].join(
        '\n',
      ),
    ]
  })
  return blocks.join('\n\n')
}

/** Runs as a table, one line each. */
export function renderRuns(runs: readonly Run[], paint: Paint): string {
  if (runs.length === 0) return 'No runs yet.'
  const head = ['RUN', 'CONNECTION', 'CREATED', 'STATE', 'CHANGES']
  const rows = runs.map((run) => [
    shortId(run.id),
    run.connection,
    formatInstant(run.createdAt),
    run.state,
    summaryText(run),
  ])
  return alignColumns(
    [head, ...rows],
    (cell, row, column) => {
      if (row === 0) return paint('bold', cell)
      const run = runs[row - 1]
      return column === 3 && run ? paint(stateStyles[run.state], cell) : cell
    },
    roomIn(paint),
  ).join('\n')
}

/** What a run changes, or the first line of why it changes nothing. */
function summaryText({ counts, reason }: Run): string {
  return counts ? countsText(counts) : (reason ?? '').split('\n', 1).map(escapeText).join('')
}

/** A run in one line, for a list that grows. */
export function renderRunLine(run: Run, paint: Paint): string {
  const summary = summaryText(run)
  const at = formatInstant(run.finishedAt ?? run.startedAt ?? run.createdAt)
  return `${at}  ${shortId(run.id)}  ${run.connection}  ${stateText(run, paint)}  ${summary}`.trimEnd()
}

/** The last lines of a command when a run has ended or is held, and what can be done about it. */
export function renderOutcome(run: Run, paint: Paint): string {
  const isAccepted = acceptedStates.has(run.state)
  const blockedPeople = run.blockedPeople !== null && isAccepted ? blockedPeopleText(run.blockedPeople) : []
  const { foreign = 0, separated = 0 } = run.verification ?? {}
  return [
    outcomeLines(run, paint),
    ...[
      ...differencesText(run),
      ...blockedPeople,
      ...(isAccepted ? foreignText({ people: foreign, separated }) : []),
      ...doubtText(run.inDoubt),
      ...droppedText(run),
    ].map((line) => `${paint('yellow', '!')} ${run.connection}: ${line}`),
  ].join('\n')
}

/** What is lost of a rejected export that contains only changes. */
function droppedText({ state, feed, mode, source }: Run): string[] {
  if (state !== 'rejected' || feed !== 'source' || mode !== 'delta' || source === null) return []
  return ['this export contains only changes and is not read again: what it states for a later day is dropped too']
}

/** The final states of a run whose plan was accepted. */
const acceptedStates: ReadonlySet<Run['state']> = new Set(['unchanged', 'finished', 'finished_with_problems'])

/** `the platform did not have 3 people as it acknowledged them (2 lost, 1 changed): rollcall run ID`; no line if it had all of them. */
function differencesText({ id, verification }: Run): string[] {
  if (verification === null || verification.lost + verification.changed === 0) return []
  const { lost, changed } = verification
  const people = pluralize(lost + changed, 'person', 'people')
  return [
    `the platform did not have ${people} as it acknowledged them (${number(lost)} lost, ${number(changed)} changed): rollcall run ${shortId(id)}`,
  ]
}

function outcomeLines(run: Run, paint: Paint): string {
  const subject = `${run.connection}:`
  switch (run.state) {
    case 'unchanged':
      return [
        `${paint('green', '✔')} ${subject} nothing to change${countsInBrackets(run)}`,
        ...heldPartLines(run, paint),
      ].join('\n')
    case 'finished':
      return [`${paint('green', '✔')} ${subject} ${deliveredText(run)}`, ...heldPartLines(run, paint)].join('\n')
    case 'finished_with_problems':
      return [
        `${paint('yellow', '!')} ${subject} ${deliveredText(run)}, ${pluralize(run.problems, 'problem')}`,
        '  rollcall problems lists them; every later run tries them again',
        ...heldPartLines(run, paint),
      ].join('\n')
    case 'held':
      return [
        `${paint('yellow', '‖')} ${subject} held${run.expiresAt === null ? '' : ` until ${formatInstant(run.expiresAt)}`}: ${escapeText(run.reason ?? 'a person must approve the plan')}`,
        ...(run.wentOn === null ? [] : [`  changes that no guard questions continue in run ${shortId(run.wentOn)}`]),
        `  rollcall run ${shortId(run.id)}      shows the plan`,
        `  rollcall approve ${shortId(run.id)}  delivers it`,
        `  rollcall reject ${shortId(run.id)}   rejects it`,
      ].join('\n')
    case 'failed':
      return `${paint('red', '✖')} ${subject} failed: ${escapeText(run.reason ?? 'no reason was recorded')}`
    case 'rejected':
    case 'superseded':
    case 'cancelled':
      return `${paint('dim', '-')} ${subject} ${run.state}${run.decidedBy === null ? '' : ` by ${escapeText(run.decidedBy)}`}`
    case 'waiting':
    case 'reading':
    case 'planned':
    case 'delivering':
      return `${paint('cyan', '…')} ${subject} ${run.state}`
    default:
      return run.state satisfies never
  }
}

/** Whom a guard held while the others were delivered, why, and what can be done about them. */
function heldPartLines({ heldPart, heldPartRun: held }: Run, paint: Paint): string[] {
  if (heldPart === null) return []
  const id = shortId(heldPart)
  if (!held) return [`${paint('yellow', '‖')} a guard holds some of its people in run ${id}`]
  if (held.state !== 'held') return [`${paint('dim', '-')} ${heldPartText(held)}`]
  const reason = held.reason === null ? '' : `: ${escapeText(held.reason)}`
  return [
    `${paint('yellow', '‖')} ${pluralize(held.people, 'person is', 'people are')} held in run ${id}${reason}`,
    `  rollcall run ${id}      shows the plan`,
    `  rollcall approve ${id}  delivers it`,
  ]
}

/** `4 people in run 5e6f7a8b, approved by ana`: whom a guard held, and what became of them. */
function heldPartText(held: NonNullable<Run['heldPartRun']>): string {
  const outcome = heldPartOutcome(held) ?? 'held'
  const by = held.replacedBy === null ? '' : ` by run ${shortId(held.replacedBy)}`
  return `${pluralize(held.people, 'person', 'people')} in run ${shortId(held.runId)}, ${escapeText(outcome)}${by}`
}

function runFacts(run: Run): string[][] {
  const facts: [string, string | null][] = [
    ['now', run.delay ? escapeText(run.delay) : null],
    ['trigger', `${run.trigger}${optionsText(run)}`],
    ['requested by', run.requestedBy.length === 0 ? null : escapeText(run.requestedBy.join(', '))],
    ['reads', run.feed === 'source' && !run.options.retract ? null : feedText(run)],
    ['created', formatInstant(run.createdAt)],
    ['source', run.source && `${escapeText(run.source.name)} (${sizeText(run.source)})`],
    ['end of list', run.source?.end === undefined ? null : escapeText(run.source.end)],
    ['as of', run.asOf && formatInstant(run.asOf)],
    ['rows', run.rows === null ? null : `${number(run.rows)}, ${pluralize(run.records ?? 0, 'record')}`],
    ['plan', run.counts && countsText(run.counts)],
    ['held part', heldPartFact(run)],
    ['without them', run.heldPartOf ? `run ${shortId(run.heldPartOf)} went on` : null],
    ['replaced by', run.instead ? `run ${shortId(run.instead.runId)}, which is held` : null],
    ['continued', run.wentOn && `run ${shortId(run.wentOn)}`],
    ['part of', run.partOf && `the plan of run ${shortId(run.partOf)}`],
    ['parts', run.parts.map((id) => `run ${shortId(id)}`).join(', ') || null],
    ['linked runs', run.also.map(({ id, connection }) => `run ${shortId(id)} of ${connection}`).join(', ') || null],
    ['linked to', run.ridesWith && `run ${shortId(run.ridesWith)}`],
    ['digest', run.digest],
    [
      'moved',
      run.state === 'held' && run.moved ? `${escapeText(run.moved)}; after an approval, Rollcall plans again` : null,
    ],
    ['verified', run.verification && verificationText(run.verification)],
    ['sent', sentText(run)],
    ['confirmed', run.confirmed > 0 ? pluralize(run.confirmed, 'change') : null],
    ['problems', run.problems > 0 ? number(run.problems) : null],
    ['need attention', (run.blockedPeople && peopleAndRows(run.blockedPeople)) || null],
    ['in doubt', run.inDoubt && inDoubtText(run.inDoubt)],
    ['remaining', run.remaining > 0 ? pluralize(run.remaining, 'change') : null],
    ['expires', run.state === 'held' && run.expiresAt ? formatInstant(run.expiresAt) : null],
    ['decided', run.decidedBy && decidedText(run)],
    ['took', run.durationMs === null ? null : duration(run.durationMs)],
    ['reason', run.reason && escapeText(run.reason)],
    ['values', run.valuesRemovedAt && `removed on ${formatInstant(run.valuesRemovedAt)}`],
  ]
  return facts.flatMap(([name, value]) => (value === null ? [] : [[name, value]]))
}

function heldPartFact({ heldPart, heldPartRun }: Run): string | null {
  if (heldPart === null) return null
  return heldPartRun ? heldPartText(heldPartRun) : `run ${shortId(heldPart)}`
}

function inDoubtText({ people, leavers, until }: InDoubtCounts): string {
  const amongThem = leavers === 0 ? '' : `, ${pluralize(leavers, 'leaver')} among them`
  return `${pluralize(people, 'person', 'people')}${amongThem}; checked until ${formatInstant(until)} at least`
}

function decidedText({ decidedBy, decidedAt, decidedReason }: Run): string {
  const when = decidedAt === null ? '' : `, ${formatInstant(decidedAt)}`
  const why = decidedReason === null ? '' : `: ${escapeText(decidedReason)}`
  return `by ${escapeText(decidedBy ?? '')}${when}${why}`
}

function sizeText({ bytes, textBytes }: NonNullable<Run['source']>): string {
  const fileSize = pluralize(bytes, 'byte')
  return textBytes === undefined ? fileSize : `${fileSize}, ${number(textBytes)} as plain text`
}

function stateText(run: Run, paint: Paint): string {
  return paint(stateStyles[run.state], run.state)
}

function optionsText({ options }: Run): string {
  const flags = [
    options.full && 'full',
    options.verify && 'verify',
    options.sample && 'sample',
    options.retract && 'retract',
    personText(options),
    options.separate &&
      `separate ${pluralize(options.separate.identityIds.length, 'person', 'people')}: ${escapeText(options.separate.reason)}`,
    options.revert && `revert ${shortId(options.revert.runId)}`,
  ].filter(Boolean)
  return flags.length === 0 ? '' : ` (${flags.join(', ')})`
}

function personText({ person }: Run['options']): string | false {
  return person !== undefined && `person ${escapeText(person.identityId ?? 'by e-mail')}`
}

function sentText({ sent }: Run): string | null {
  const parts = Object.entries(sent).flatMap(([kind, { requests, people }]) =>
    requests === 0 ? [] : [`${kind}: ${pluralize(requests, 'request')} for ${pluralize(people, 'person', 'people')}`],
  )
  return parts.length === 0 ? null : parts.join('; ')
}

function verificationText(verification: Verification): string {
  const { asked: requested, lost, changed, foreign, separated = 0 } = verification
  if (requested !== undefined)
    return `${pluralize(requested, 'person', 'people')} looked up: ${number(lost)} lost, ${number(changed)} changed`
  return `${pluralize(verification.listed, 'person', 'people')} on the platform: ${number(lost)} lost, ${number(changed)} changed, ${number(foreign)} foreign${separated === 0 ? '' : `, ${number(separated)} more of them separated`}`
}

function deliveredText(run: Run): string {
  // The duration of a run that was held is mostly the time that a person took to decide.
  const took = run.durationMs === null || run.decidedAt !== null ? '' : ` in ${duration(run.durationMs)}`
  const again = sentAgain(run)
  if (run.counts === null || again === 0)
    return `${pluralize(run.confirmed, 'change')} delivered${took}${countsInBrackets(run)}`
  const those = again === run.counts.unchanged ? ' and sent again' : `, ${number(again)} of them sent again`
  return `${pluralize(run.confirmed, 'person', 'people')} delivered${took} (${countsText(run.counts)}${those})`
}

/** How many people were sent although nothing about them changed, as in a full run or a verification. */
function sentAgain({ counts, confirmed, problems, remaining }: Run): number {
  if (counts === null) return 0
  const { unchanged: _unchanged, rejected: _rejected, incomplete: _incomplete, ...changes } = counts
  const planned = Object.values(changes).reduce((sum, count) => sum + count, 0)
  return Math.max(0, confirmed + problems + remaining - planned)
}

function countsInBrackets(run: Run): string {
  return run.counts ? ` (${countsText(run.counts)})` : ''
}
