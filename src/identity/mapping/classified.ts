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

/** The meaning of a classified value: a key of `meanings`. */
export type Meaning = keyof typeof meanings

/** A value that a person has classified. `value` is folded: case and surrounding blanks do not matter. */
export type ClassifiedValue = { readonly field: ListedField; readonly value: string; readonly meaning: Meaning }

/** Adds the classified values to the lists of a mapping. The configuration takes precedence. */
export function withClassified(mapping: Mapping, classified: readonly ClassifiedValue[]): Mapping {
  const { status, fields } = mapping
  const classifiedFor = (field: ListedField) => classified.filter((one) => one.field === field)
  const { isContractor } = fields
  return {
    ...mapping,
    ...(status && { status: withStatuses(status, classifiedFor('status')) }),
    fields: {
      ...fields,
      ...(isContractor && { isContractor: withContractors(isContractor, classifiedFor('isContractor')) }),
    },
  }
}

function withStatuses(status: NonNullable<Mapping['status']>, classified: readonly ClassifiedValue[]) {
  const listed = new Set([...status.leftWhen, ...status.employedWhen].map(foldValue))
  const valuesMeaning = (meaning: Meaning) =>
    classified.flatMap((one) => (one.meaning === meaning && !listed.has(one.value) ? [one.value] : []))
  return {
    ...status,
    leftWhen: [...status.leftWhen, ...valuesMeaning('left')],
    employedWhen: [...status.employedWhen, ...valuesMeaning('employed')],
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
