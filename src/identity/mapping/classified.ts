import type { ListedField } from '../record.ts'
import { yesAndNo } from './cells.ts'
import { foldValue } from './fold-value.ts'
import type { Mapping } from './mapping.ts'

/** The meanings that a person can give to a value of a closed list, with their field. */
export const meanings = {
  employed: 'status',
  left: 'status',
  contractor: 'isContractor',
  employee: 'isContractor',
} as const satisfies Record<string, ListedField>

/** One of `meanings`. */
export type Meaning = keyof typeof meanings

/** A value that a person has classified. `value` is folded: case and surrounding blanks do not matter. */
export type ClassifiedValue = { readonly field: ListedField; readonly value: string; readonly meaning: Meaning }

/** Adds the classified values to the lists of a mapping. For a value that the configuration lists, the configuration decides. */
export function withClassified(mapping: Mapping, classified: readonly ClassifiedValue[]): Mapping {
  const { status, fields } = mapping
  const ofField = (desired: ListedField) => classified.filter(({ field }) => field === desired)
  const { isContractor } = fields
  return {
    ...mapping,
    ...(status && { status: withStatuses(status, ofField('status')) }),
    fields: {
      ...fields,
      ...(isContractor && { isContractor: withContractors(isContractor, ofField('isContractor')) }),
    },
  }
}

function withStatuses(status: NonNullable<Mapping['status']>, classified: readonly ClassifiedValue[]) {
  const listed = new Set([...status.leftWhen, ...status.employedWhen].map(foldValue))
  const meaning = (desired: Meaning) =>
    classified.flatMap((one) => (one.meaning === desired && !listed.has(one.value) ? [one.value] : []))
  return {
    ...status,
    leftWhen: [...status.leftWhen, ...meaning('left')],
    employedWhen: [...status.employedWhen, ...meaning('employed')],
  }
}

function withContractors(rule: NonNullable<Mapping['fields']['isContractor']>, classified: readonly ClassifiedValue[]) {
  const map = rule.map ?? yesAndNo
  const listed = new Set(Object.keys(map).map(foldValue))
  const added = classified.flatMap(({ value, meaning }) =>
    listed.has(value) ? [] : [[value, meaning === 'contractor']],
  )
  return { ...rule, map: { ...map, ...Object.fromEntries(added) } }
}
