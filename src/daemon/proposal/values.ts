import { foldValue } from '../../identity/mapping/fold-value.ts'
import { type MappingPatch, mergePreset } from '../../identity/mapping/mapping.ts'
import { asRule, countValues, type Texts } from './cells.ts'
import type { ChosenPreset } from './choose-preset.ts'
import type { Answers, ContractorValues, Question, StatusValues, ValueCount } from './proposal.ts'
import type { Thesaurus } from './thesaurus.ts'

type StatusRule = NonNullable<MappingPatch['status']>
type ValueContext = { readonly patch: MappingPatch; readonly thesaurus: Thesaurus; readonly answers: Answers }

/** The meanings of values in columns, the open questions about them, and the mapping for them. */
type Values = {
  readonly statuses: StatusValues | null
  readonly contractors: ContractorValues | null
  readonly questions: readonly Question[]
  readonly patch: MappingPatch
}

/** Assigns meanings to the values of the status and contractor columns. A word that different systems use differently becomes a question. */
export function interpretValues(texts: Texts, chosen: ChosenPreset, context: ValueContext): Values {
  const { answers, patch } = context
  const statusAnswers = new Map(
    Object.entries(answers.statuses ?? {}).map(([value, means]) => [foldValue(value), means]),
  )
  const statuses = interpretStatuses(texts, chosen, { ...context, statusAnswers })
  const contractors = interpretContractors(texts, chosen, context)
  return {
    statuses,
    contractors,
    questions: [
      ...(statuses?.open ?? [])
        .filter(({ value }) => statusAnswers.get(foldValue(value)) !== 'open')
        .map((entry) => ({ about: 'status', column: statuses?.column ?? '', ...entry }) as const),
      ...(contractors?.open ?? [])
        .filter(({ value }) => answers.contractors?.[value] === undefined)
        .map((entry) => ({ about: 'contractor', column: contractors?.column ?? '', ...entry }) as const),
    ],
    patch: {
      ...withContractors(chosen, patch, contractors),
      ...withStatuses(chosen, { ...context, statuses, statusAnswers }),
    },
  }
}

type StatusAnswers = ReadonlyMap<string, 'left' | 'employed' | 'open'>

/** Groups the statuses of the sample by meaning. Answers win, then the preset, then the thesaurus. Null: there is no status column. */
function interpretStatuses(
  texts: Texts,
  { preset, isCertain }: ChosenPreset,
  { patch, thesaurus, statusAnswers }: ValueContext & { readonly statusAnswers: StatusAnswers },
): StatusValues | null {
  const column = texts.get('status')
  const rule = mergePreset(preset.mapping, patch).status as StatusRule | undefined
  if (column === undefined || rule === undefined) return null
  const left = new Set(rule.leftWhen.map(foldValue))
  const employed = new Set((rule.employedWhen ?? []).map(foldValue))
  const meaning = ({ value }: ValueCount) => {
    const folded = foldValue(value)
    const answer = statusAnswers.get(folded)
    if (answer !== undefined) return answer
    if (!isCertain && thesaurus.ambiguous.has(folded)) return 'open'
    return left.has(folded) ? 'left' : employed.has(folded) ? 'employed' : (thesaurus.statuses.get(folded) ?? 'open')
  }
  const groups = Object.groupBy(countValues(column.texts), meaning)
  return { column: column.column, left: groups.left ?? [], employed: groups.employed ?? [], open: groups.open ?? [] }
}

/** Adds the meanings of statuses that the preset does not list. A list of the configuration replaces the preset's. */
function withStatuses(
  { preset, isCertain }: ChosenPreset,
  {
    patch,
    thesaurus,
    statuses,
    statusAnswers,
  }: ValueContext & { readonly statuses: StatusValues | null; readonly statusAnswers: StatusAnswers },
): Pick<MappingPatch, 'status'> {
  const rule = mergePreset(preset.mapping, patch).status as StatusRule | undefined
  if (statuses === null || rule === undefined) return {}
  const isOpen = (value: string) => {
    const folded = foldValue(value)
    return statusAnswers.has(folded)
      ? statusAnswers.get(folded) === 'open'
      : !isCertain && thesaurus.ambiguous.has(folded)
  }
  const answeredValues = (means: 'left' | 'employed') =>
    [...statusAnswers].flatMap(([value, one]) => (one === means ? [value] : []))
  const left = [...valuesOf(statuses.left), ...answeredValues('left')]
  const employed = [...valuesOf(statuses.employed), ...answeredValues('employed')]
  return {
    status: {
      ...rule,
      leftWhen: mergeMeanings(rule.leftWhen, left, employed).filter((value) => !isOpen(value)),
      employedWhen: mergeMeanings(rule.employedWhen ?? [], employed, left).filter((value) => !isOpen(value)),
    },
  }
}

function valuesOf(counts: readonly ValueCount[]): string[] {
  return counts.map(({ value }) => value)
}

/** Groups the values of the contractor column by meaning. Null: there is no such column. */
function interpretContractors(
  texts: Texts,
  { preset }: ChosenPreset,
  { patch, thesaurus, answers }: ValueContext,
): ContractorValues | null {
  const column = texts.get('isContractor')
  const rule = mergePreset(preset.mapping, patch).fields.isContractor
  if (column === undefined) return null
  const { map } = asRule(rule) as { map?: Readonly<Record<string, boolean | null>> }
  const plain = map ?? { yes: true, no: false, true: true, false: false, 1: true, 0: false }
  const known = new Map(Object.entries(plain).map(([value, means]) => [foldValue(value), means]))
  const meaning = ({ value }: ValueCount) => {
    const answer = answers.contractors?.[value]
    const means =
      answer !== undefined
        ? answer
        : (known.get(foldValue(value)) ?? thesaurus.contractors.get(foldValue(value)) ?? null)
    return means === null ? 'open' : means ? 'contractor' : 'employee'
  }
  const groups = Object.groupBy(countValues(column.texts), meaning)
  return {
    column: column.column,
    contractor: groups.contractor ?? [],
    employee: groups.employee ?? [],
    open: groups.open ?? [],
  }
}

/** Adds who is a contractor, if the preset does not say. */
function withContractors(
  { preset }: ChosenPreset,
  patch: MappingPatch,
  contractors: ContractorValues | null,
): MappingPatch {
  const merged = mergePreset(preset.mapping, patch)
  const { map } = asRule(merged.fields.isContractor) as { map?: Record<string, boolean | null> }
  const added =
    contractors === null
      ? []
      : [
          ...contractors.contractor.map(({ value }) => [value, true] as const),
          ...contractors.employee.map(({ value }) => [value, false] as const),
        ]
  const listed = new Map(Object.entries(map ?? {}).map(([value, means]) => [foldValue(value), means]))
  const isKnown =
    map === undefined ? isYesOrNo(added) : added.every(([value, means]) => listed.get(foldValue(value)) === means)
  if (isKnown) return patch
  const isContractor = { ...asRule(patch.fields?.isContractor), map: { ...map, ...Object.fromEntries(added) } }
  return { ...patch, fields: { ...patch.fields, isContractor } }
}

function isYesOrNo(values: readonly (readonly [string, boolean])[]): boolean {
  return values.every(([value]) => /^(?:yes|no|true|false|1|0)$/.test(foldValue(value)))
}

/** Adds values of the same meaning to a list, and removes those of the opposite meaning. */
function mergeMeanings(listed: readonly string[], same: readonly string[], opposite: readonly string[]): string[] {
  const against = new Set(opposite.map(foldValue))
  const all = [...same, ...listed].filter((value) => !against.has(foldValue(value)))
  return [...new Map(all.toReversed().map((value) => [foldValue(value), value])).values()].toReversed()
}
