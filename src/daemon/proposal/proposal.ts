import type { MappingPatch } from '../../identity/mapping/mapping.ts'
import { type FieldName, fieldNames } from '../../identity/record.ts'
import type { Preset } from '../config/presets.ts'
import type { Table } from './table.ts'

type MappedField = 'identityId' | FieldName
/** A field that a person can choose a column for. */
export type ReadField = MappedField | 'status'
/** These fields in the order in which they are shown. */
export const readFields: readonly ReadField[] = ['identityId', ...fieldNames, 'status']

/** A person's answers, if the export does not decide or is to be read differently. */
export type Answers = {
  readonly preset?: string
  /** The column of a field; null: the field is not sent, or no column is the status. */
  readonly fields?: Readonly<Partial<Record<ReadField, string | null>>>
  readonly dateFormat?: string
  /** By the status. Case does not matter. */
  readonly statuses?: Readonly<Record<string, 'left' | 'employed' | 'open'>>
  /** By the value of the contractor column as the export has it. */
  readonly contractors?: Readonly<Record<string, boolean | null>>
}

/** A field and the columns it is read from. */
export type ProposedField = {
  readonly field: ReadField
  /** The headers that it is read from, joined by commas. */
  readonly column: string
  readonly examples: readonly string[]
  /** Why this column, if the preset does not name it. */
  readonly why: string | null
}

/** A value of a column and the number of rows that have it. */
export type ValueCount = { readonly value: string; readonly rows: number }

/** A question that only a person can answer. */
export type Question =
  | { readonly about: 'identityId'; readonly choices: readonly string[] }
  /** No column says who has left, and one of these could. */
  | { readonly about: 'leavers'; readonly dates: readonly string[]; readonly statuses: readonly string[] }
  | { readonly about: 'dateFormat'; readonly columns: readonly string[]; readonly choices: readonly string[] }
  | { readonly about: 'status'; readonly column: string; readonly value: string; readonly rows: number }
  | { readonly about: 'contractor'; readonly column: string; readonly value: string; readonly rows: number }

/** Whether a question must be answered before a plan is made. An unknown value only holds the plan; a wrong key or date format would send wrong data. */
export function isBlocking(question: Question): question is BlockingQuestion {
  return question.about === 'identityId' || question.about === 'dateFormat' || question.about === 'leavers'
}

/** A question that must be answered before a plan is made. */
export type BlockingQuestion = Extract<Question, { about: 'identityId' | 'dateFormat' | 'leavers' }>

/** The values of the status column by their meaning; `open`: not classified yet. */
export type StatusValues = {
  readonly column: string
  readonly left: readonly ValueCount[]
  readonly employed: readonly ValueCount[]
  readonly open: readonly ValueCount[]
}

/** The values of the contractor column by their meaning; `open`: not classified yet. */
export type ContractorValues = {
  readonly column: string
  readonly contractor: readonly ValueCount[]
  readonly employee: readonly ValueCount[]
  readonly open: readonly ValueCount[]
}

/** How the dates of a column are read. */
export type ProposedDates = {
  readonly field: 'startedAt' | 'separatedAt'
  readonly column: string
  readonly format: string
  readonly why: string
}

/** How an export could be read: all settings that a configuration needs for it, and the open questions. */
export type Proposal = {
  readonly table: Table
  readonly preset: string
  readonly title: string
  /** The export format of the preset's system. */
  readonly form: Preset['format']
  /** Why this preset: how many of its fields the export has, and how many the next best has. */
  readonly why: string
  readonly fields: readonly ProposedField[]
  /** The columns that are not read. */
  readonly unreadColumns: readonly string[]
  /** The mapping on top of the preset. */
  readonly mapping: MappingPatch
  readonly statuses: StatusValues | null
  readonly contractors: ContractorValues | null
  readonly dates: readonly ProposedDates[]
  readonly timeZone: { readonly name: string; readonly column: string } | null
  readonly questions: readonly Question[]
  readonly notes: readonly string[]
}
