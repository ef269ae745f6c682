import { readPresets } from '../../daemon/config/presets.ts'
import { findHeader } from '../../daemon/proposal/cells.ts'
import {
  type Answers,
  type BlockingQuestion,
  isBlocking,
  type Proposal,
  type Question,
  type ReadField,
  readFields,
} from '../../daemon/proposal/proposal.ts'
import { propose } from '../../daemon/proposal/propose.ts'
import type { Table } from '../../daemon/proposal/table.ts'
import { Failure } from '../../errors.ts'
import { pluralize } from '../render/text.ts'
import type { Prompts } from '../session/prompts.ts'

/** The options of the command about how an export is read. */
export type ReadingOptions = {
  readonly preset?: string
  readonly field: readonly string[]
  readonly dateFormat?: string
  readonly left: readonly string[]
  readonly employed: readonly string[]
}

/** A proposal without questions, and its answers. */
type AnsweredProposal = { readonly proposal: Proposal; readonly answers: Answers }

/** The proposal once every question is answered: by options, by the person, or left open where that is safe. */
export async function answerQuestions(
  table: Table,
  initial: Answers,
  prompts: Prompts | null,
): Promise<AnsweredProposal> {
  const presets = await readPresets()
  let answers = initial
  for (;;) {
    const proposal = propose(table, presets, answers)
    const stopping = proposal.questions.find(isBlocking)
    if (prompts === null && stopping !== undefined) throw unansweredFailure(stopping)
    const [question] = prompts === null ? [] : proposal.questions
    if (prompts === null || question === undefined) return { proposal, answers }
    answers = mergeAnswers(answers, await answerTo(question, prompts))
  }
}

function unansweredFailure(question: BlockingQuestion): Failure {
  switch (question.about) {
    case 'dateFormat':
      return new Failure(
        'usage',
        `the dates in ${question.columns.join(' and ')} can be read as ${question.choices.join(' or ')}, and no date decides it: use --date-format '${question.choices[0]}'`,
      )
    case 'leavers':
      return new Failure('usage', noLeavers(question))
    case 'identityId':
      return new Failure(
        'usage',
        `several columns could be the key of a person (${question.choices.join(', ')}): choose one with --field 'identityId=${question.choices[0] ?? 'COLUMN'}'`,
      )
    default:
      return question satisfies never
  }
}

function noLeavers({ dates, statuses }: Extract<Question, { about: 'leavers' }>): string {
  const could = [
    ...dates.map((header) => `--field 'separatedAt=${header}' (it holds dates)`),
    ...statuses.map((header) => `--field 'status=${header}' (it holds statuses)`),
  ]
  const none = dates.length > 0 ? 'separatedAt' : 'status'
  return `no column that is read shows who has left, but an unread column could: use ${could.join(' or ')}; or use --field ${none}= if there is none, so that people leave only by being missing from the export`
}

/** Asks one question at the terminal. */
export async function answerTo(question: Question, prompts: Prompts): Promise<Answers> {
  switch (question.about) {
    case 'identityId': {
      const choices = question.choices.map((header) => ({ value: header, label: header }))
      const identityId = await prompts.choose(
        'Which column holds the key that identifies a person and never changes?',
        choices,
      )
      return { fields: { identityId } }
    }
    case 'leavers':
      return await leaversAnswer(question, prompts)
    case 'dateFormat': {
      const choices = question.choices.map((format) => ({ value: format, label: format }))
      return {
        dateFormat: await prompts.choose(`How are the dates in ${question.columns.join(' and ')} written?`, choices),
      }
    }
    case 'status': {
      const choices = [
        { value: 'employed', label: 'employed' },
        { value: 'left', label: 'has left' },
        { value: 'open', label: 'unknown: hold the plan' },
      ] as const
      const message = `What does "${question.value}" in ${question.column} mean (${pluralize(question.rows, 'row')})?`
      return { statuses: { [question.value]: await prompts.choose(message, choices) } }
    }
    case 'contractor': {
      const choices = [
        { value: 'employee', label: 'an employee' },
        { value: 'contractor', label: 'a contractor' },
        { value: 'open', label: 'unknown' },
      ] as const
      const message = `What does "${question.value}" in ${question.column} mean (${pluralize(question.rows, 'row')})?`
      const meaning = await prompts.choose(message, choices)
      return { contractors: { [question.value]: meaning === 'open' ? null : meaning === 'contractor' } }
    }
    default:
      return question satisfies never
  }
}

async function leaversAnswer(
  { dates, statuses }: Extract<Question, { about: 'leavers' }>,
  prompts: Prompts,
): Promise<Answers> {
  const columns = [
    ...dates.map((header) => ({ field: 'separatedAt', header, label: `${header}, as the last day of employment` })),
    ...statuses.map((header) => ({ field: 'status', header, label: `${header}, as the status` })),
  ]
  const choices = columns.map(({ label }, at) => ({ value: String(at), label }))
  const none = { value: 'none', label: 'none: people leave only by being missing from the export' }
  const chosen = columns[Number(await prompts.choose('Which column says who has left?', [...choices, none]))]
  if (chosen !== undefined) return { fields: { [chosen.field]: chosen.header } }
  return { fields: dates.length > 0 ? { separatedAt: null } : { status: null } }
}

/** Merges answers; the additional ones win. */
export function mergeAnswers(answers: Answers, more: Answers): Answers {
  return {
    ...answers,
    ...more,
    fields: { ...answers.fields, ...more.fields },
    statuses: { ...answers.statuses, ...more.statuses },
    contractors: { ...answers.contractors, ...more.contractors },
  }
}

/** The answers that options give, checked against the export and the presets. */
export async function answersOf(table: Table, options: ReadingOptions): Promise<Answers> {
  const { preset, dateFormat, field, left, employed } = options
  const presets = await readPresets()
  if (preset !== undefined && !presets.has(preset))
    throw new Failure('usage', `unknown preset "${preset}"; there are ${[...presets.keys()].join(', ')}`)
  const fields = field.map((text): [ReadField, string | null] => {
    const [, name = '', column = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    const known = readFields.find((one) => one === name.trim())
    if (known === undefined)
      throw new Failure('usage', `--field takes FIELD=COLUMN, with one of ${readFields.join(', ')}; not "${text}"`)
    const header = column === '' ? null : findHeader(table, column)
    if (column !== '' && header === null)
      throw new Failure('usage', `the export has no column "${column}"; it has ${table.headers.join(', ')}`)
    return [known, header]
  })
  return {
    preset,
    dateFormat,
    fields: Object.fromEntries(fields),
    statuses: Object.fromEntries([
      ...left.map((value) => [value, 'left'] as const),
      ...employed.map((value) => [value, 'employed'] as const),
    ]),
  }
}

/** Refuses options about statuses if no column is a status. */
export function requireStatusColumn({ statuses, table }: Proposal, { left, employed }: ReadingOptions): void {
  if (statuses !== null || left.length + employed.length === 0) return
  const option = left.length > 0 ? '--left' : '--employed'
  throw new Failure(
    'usage',
    `${option} needs a status column, and no column is read as the status: use --field status=COLUMN; the export has ${table.headers.join(', ')}`,
  )
}
