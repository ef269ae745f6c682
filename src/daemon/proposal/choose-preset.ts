import { foldValue } from '../../identity/mapping/fold-value.ts'
import { normaliseHeader } from '../../identity/mapping/headers.ts'
import type { Preset, Presets } from '../config/presets.ts'
import { cellsOf } from './cells.ts'
import type { Answers } from './proposal.ts'
import type { Table } from './table.ts'
import { namesIn, type Rule, rulesOf } from './thesaurus.ts'

/** The preset that an export is read with. */
export type ChosenPreset = {
  readonly name: string
  readonly preset: Preset
  readonly why: string
  /** Whether the export is of this system for certain: a person says so, or a column is called as in no other one. */
  readonly isCertain: boolean
}

/** From this share of its fields on, a column of its own makes a preset certain. */
const certainShare = 0.5

/** The preset whose fields the export has, and the generic one where no system fits better. */
export function choosePreset(table: Table, presets: Presets, answers: Answers): ChosenPreset {
  const headers = new Set(table.headers.map(normaliseHeader))
  const scored = [...presets].map(([name, preset]) => {
    const rules = rulesOf(preset)
    const matched = rules.filter(([, names]) => names.some((column) => headers.has(normaliseHeader(column))))
    const hasKey = matched.some(([field]) => field === 'identityId')
    const isLike = matched.length >= rules.length * certainShare && hasColumnOfItsOwn(headers, name, presets)
    return { name, preset, matched: matched.length, of: rules.length, hasKey, isLike, words: knownShare(table, preset) }
  })
  const ranked = scored.toSorted(
    (a, b) =>
      Number(b.hasKey) - Number(a.hasKey) ||
      b.matched - a.matched ||
      Number(b.isLike) - Number(a.isLike) ||
      // What says no more of one system than of any other is not taken for an export of that system.
      Number(b.name === 'generic') - Number(a.name === 'generic') ||
      b.words - a.words ||
      b.matched / b.of - a.matched / a.of,
  )
  const named = ranked.find(({ name }) => name === answers.preset)
  const generic = ranked.find(({ name }) => name === 'generic')
  const [best] = ranked
  // An export of which no preset knows much is read by what its columns hold.
  const chosen = named ?? (best?.hasKey && best.matched > 2 ? best : generic)
  if (chosen === undefined) throw new Error('there is no preset')
  const next = ranked.find(({ name }) => name !== chosen.name)
  const shareOf = (one: typeof chosen) => `${one.matched} of ${one.of}`
  const why = `${shareOf(chosen)} of its fields are in the export${next === undefined ? '' : `; the next, ${next.name}, has ${shareOf(next)}`}`
  return { name: chosen.name, preset: chosen.preset, why, isCertain: named !== undefined || chosen.isLike }
}

/** The share of the values of its status column that a preset knows. */
function knownShare(table: Table, { mapping }: Preset): number {
  const names = namesIn(mapping.status as Rule)
  const header = table.headers.find((one) => names.some((name) => normaliseHeader(name) === normaliseHeader(one)))
  if (header === undefined || !mapping.status) return 0
  const known = new Set([...mapping.status.leftWhen, ...(mapping.status.employedWhen ?? [])].map(foldValue))
  const cells = cellsOf(table, header)
  return cells.filter((cell) => known.has(foldValue(cell))).length / Math.max(1, cells.length)
}

function hasColumnOfItsOwn(headers: ReadonlySet<string>, name: string, presets: Presets): boolean {
  const columnsOf = (preset: Preset) => rulesOf(preset).flatMap(([, names]) => names.map(normaliseHeader))
  const others = new Set([...presets].flatMap(([other, preset]) => (other === name ? [] : columnsOf(preset))))
  const own = presets.get(name)
  return own !== undefined && columnsOf(own).some((column) => headers.has(column) && !others.has(column))
}
