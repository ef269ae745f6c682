import type { MappingPatch } from '../../identity/mapping/mapping.ts'
import { type FieldName, fieldNames } from '../../identity/record.ts'
import type { Preset } from '../config/presets.ts'
import type { Table } from './table.ts'

type MappedField = 'identityId' | FieldName
/** What a person can choose a column for. */
export type ReadField = MappedField | 'status'
export const readFields: readonly ReadField[] = ['identityId', ...fieldNames, 'status']

/** What a person has said, where the export alone does not say it or says it otherwise. */
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

export type ProposedField = {
  readonly field: ReadField
  /** The headers that it is read from, joined by commas. */
  readonly column: string
  readonly examples: readonly string[]
  /** Why this column, where the preset does not name it. */
  readonly why: string | null
}

export type ValueCount = { readonly value: string; readonly rows: number }

/** Something that only a person knows. */
export type Question =
  | { readonly about: 'identityId'; readonly choices: readonly string[] }
  /** No column says who has left, and one of these could. */
  | { readonly about: 'leavers'; readonly dates: readonly string[]; readonly statuses: readonly string[] }
  | { readonly about: 'dateFormat'; readonly columns: readonly string[]; readonly choices: readonly string[] }
  | { readonly about: 'status'; readonly column: string; readonly value: string; readonly rows: number }
  | { readonly about: 'contractor'; readonly column: string; readonly value: string; readonly rows: number }

/** A value that no list holds holds the plan; a wrong key, a day for a month or unseen leavers would send nonsense. */
export function isBlocking(question: Question): question is BlockingQuestion {
  return question.about === 'identityId' || question.about === 'dateFormat' || question.about === 'leavers'
}

export type BlockingQuestion = Extract<Question, { about: 'identityId' | 'dateFormat' | 'leavers' }>

/** What the values of the status column mean. */
export type StatusValues = {
  readonly column: string
  readonly left: readonly ValueCount[]
  readonly employed: readonly ValueCount[]
  readonly open: readonly ValueCount[]
}

/** What the values of the contractor column mean. */
export type ContractorValues = {
  readonly column: string
  readonly contractor: readonly ValueCount[]
  readonly employee: readonly ValueCount[]
  readonly open: readonly ValueCount[]
}

export type ProposedDates = {
  readonly field: 'startedAt' | 'separatedAt'
  readonly column: string
  readonly format: string
  readonly why: string
}

/** How an export could be read: everything that a configuration needs to say about it, and what is still to be asked. */
export type Proposal = {
  readonly table: Table
  readonly preset: string
  readonly title: string
  /** How the preset's system writes its exports. */
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
