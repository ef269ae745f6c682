import { foldValue } from '../../identity/mapping/fold-value.ts'
import { normaliseHeader } from '../../identity/mapping/headers.ts'
import type { Preset, Presets } from '../config/presets.ts'
import { ambiguousStatuses, columnNames, otherColumnNames, statusWords, wordsIn } from './vocabulary.ts'

/** The meanings of columns and values on which presets and the vocabulary agree. */
export type Thesaurus = {
  /** The field of a column; undefined where it is not known, or not the same in all systems. */
  fieldOf(header: string): string | undefined
  isCalled(header: string, kind: keyof typeof otherColumnNames): boolean
  readonly statuses: ReadonlyMap<string, 'left' | 'employed'>
  readonly ambiguous: ReadonlySet<string>
  readonly contractors: ReadonlyMap<string, boolean>
}

/** A code such as S is suspended in one system and separated in another. */
const maxCodeLength = 2

/** A rule of a mapping as a preset has it. */
export type Rule = string | Readonly<Record<string, unknown>> | null | undefined

/** The names of columns that a rule knows, in the order in which they are looked for. */
export function namesIn(rule: Rule): string[] {
  if (typeof rule === 'string') return [rule]
  if (rule === null || rule === undefined) return []
  const { column = [], firstOf = [] } = rule as { column?: string | string[]; firstOf?: (string | string[])[] }
  return [column, ...firstOf].flat(2)
}

/** The fields of a preset, and the status, with the names of their columns. */
export function rulesOf({ mapping }: Preset): [string, string[]][] {
  const rules = Object.entries({ ...mapping.fields, status: mapping.status })
  return rules.flatMap(([field, rule]) => (rule === undefined ? [] : [[field, namesIn(rule as Rule)]]))
}

/** Builds the thesaurus of these presets and of the vocabulary. */
export function thesaurusOf(presets: Presets): Thesaurus {
  const known = new Map(
    Object.entries(columnNames).flatMap(([field, words]) =>
      wordsIn(words).map((word) => [plainHeader(word), field] as const),
    ),
  )
  const ofPresets = agreed(
    [...presets.values()].flatMap((preset) =>
      rulesOf(preset).flatMap(([field, names]) => names.map((name) => [plainHeader(name), field] as const)),
    ),
  )
  const others = new Map(
    Object.entries(otherColumnNames).map(([kind, words]) => [kind, new Set(wordsIn(words).map(plainHeader))]),
  )
  const ambiguous = new Set(wordsIn(ambiguousStatuses).map(foldValue))
  return {
    fieldOf: (header) => ofPresets.get(plainHeader(header)) ?? known.get(plainHeader(header)),
    isCalled: (header, kind) => others.get(kind)?.has(plainHeader(header)) === true,
    statuses: new Map([...statusesOf(presets)].filter(([word]) => !ambiguous.has(word) && word.length > maxCodeLength)),
    ambiguous,
    contractors: contractorsOf(presets),
  }
}

/** A header without its accents, which exports commonly lose. */
function plainHeader(header: string): string {
  return normaliseHeader(header.normalize('NFD').replaceAll(/\p{M}/gu, ''))
}

function statusesOf(presets: Presets): ReadonlyMap<string, 'left' | 'employed'> {
  return agreed([
    ...(['left', 'employed'] as const).flatMap((means) =>
      wordsIn(statusWords[means]).map((word) => [foldValue(word), means] as const),
    ),
    ...[...presets.values()].flatMap(({ mapping: { status } }) => [
      ...(status?.leftWhen ?? []).map((value) => [foldValue(value), 'left'] as const),
      ...(status?.employedWhen ?? []).map((value) => [foldValue(value), 'employed'] as const),
    ]),
  ])
}

function contractorsOf(presets: Presets): ReadonlyMap<string, boolean> {
  return agreed(
    [...presets.values()].flatMap(({ mapping }) => {
      const rule = mapping.fields?.isContractor
      const map = typeof rule === 'object' && rule !== null ? (rule.map ?? {}) : {}
      return Object.entries(map).flatMap(([value, means]) =>
        typeof means === 'boolean' ? [[foldValue(value), means] as const] : [],
      )
    }),
  )
}

function agreed<V>(meanings: readonly (readonly [string, V])[]): ReadonlyMap<string, V> {
  const all = Map.groupBy(meanings, ([word]) => word)
  return new Map(
    [...all].flatMap(([word, [first, ...others]]) =>
      first !== undefined && others.every(([, means]) => means === first[1]) ? [[word, first[1]]] : [],
    ),
  )
}
