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
  /** Whether the export is certainly of this system: a person stated it, or a column has a name that no other system uses. */
  readonly isCertain: boolean
}

/** From this share of its fields on, a column of its own makes a preset certain. */
const certainShare = 0.5
/** An export with fewer fields of a preset is not read with it. */
const minMatchedFields = 3

/** The preset whose fields the export has, or the generic one if no system fits better. */
export function choosePreset(table: Table, presets: Presets, answers: Answers): ChosenPreset {
  const headers = new Set(table.headers.map(normaliseHeader))
  const scored = [...presets].map(([name, preset]) => {
    const rules = rulesOf(preset)
    const matched = rules.filter(([, names]) => names.some((column) => headers.has(normaliseHeader(column))))
    const hasKey = matched.some(([field]) => field === 'identityId')
    const isCertain = matched.length >= rules.length * certainShare && hasColumnOfItsOwn(headers, name, presets)
    return {
      name,
      preset,
      matched: matched.length,
      of: rules.length,
      hasKey,
      isCertain,
      knownStatuses: knownShare(table, preset),
    }
  })
  const ranked = scored.toSorted(
    (a, b) =>
      Number(b.hasKey) - Number(a.hasKey) ||
      b.matched - a.matched ||
      Number(b.isCertain) - Number(a.isCertain) ||
      // An export that fits no system better than the others is not attributed to one.
      Number(b.name === 'generic') - Number(a.name === 'generic') ||
      b.knownStatuses - a.knownStatuses ||
      b.matched / b.of - a.matched / a.of,
  )
  const named = ranked.find(({ name }) => name === answers.preset)
  const generic = ranked.find(({ name }) => name === 'generic')
  const [best] = ranked
  // An export that no preset knows well is read by the content of its columns.
  const chosen = named ?? (best?.hasKey && best.matched >= minMatchedFields ? best : generic)
  if (chosen === undefined) throw new Error('there is no preset')
  const next = ranked.find(({ name }) => name !== chosen.name)
  const shareOf = (one: typeof chosen) => `${one.matched} of ${one.of}`
  const why = `${shareOf(chosen)} of its fields are in the export${next === undefined ? '' : `; the next best, ${next.name}, has ${shareOf(next)}`}`
  return { name: chosen.name, preset: chosen.preset, why, isCertain: named !== undefined || chosen.isCertain }
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
