import { normaliseHeader } from '../../identity/mapping/headers.ts'
import type { Preset } from '../config/presets.ts'
import { cellsOf, doubledNames } from './cells.ts'
import type { Answers } from './proposal.ts'
import { type SeveralRows, severalRowsBy } from './several-rows.ts'
import type { Table } from './table.ts'
import { namesIn, type Rule, type Thesaurus } from './thesaurus.ts'

type KeyColumn = {
  /** The column, where the preset would not take it; null: the preset's own. */
  readonly override: string | null
  /** The possible columns, if a person has to choose. */
  readonly choices: readonly string[]
  readonly notes: readonly string[]
  readonly several: SeveralRows | null
}

/** From this share of rows with a key of their own on, the column that a preset names is the key. */
const mostlyOwn = 0.75

/** The column of the key: never one that is blank or shared by two people, and asked for if several are possible. */
export function keyColumn(
  table: Table,
  preset: Preset,
  { thesaurus, answers }: { readonly thesaurus: Thesaurus; readonly answers: Answers },
): KeyColumn {
  const chosen = answers.fields?.identityId
  if (chosen) return sharedKey(table, chosen, thesaurus) ?? { ...plain, override: chosen }
  const names = namesIn(preset.mapping.fields?.identityId as Rule).map(normaliseHeader)
  const ofPreset = table.headers.filter((header) => names.includes(normaliseHeader(header)))
  const known = ofPreset.length > 0 ? ofPreset : table.headers.filter((one) => thesaurus.fieldOf(one) === 'identityId')
  const sound = known.filter((header) => isKeyLike(table, header))
  const [only, ...others] = sound
  if (only !== undefined && others.length === 0) {
    const isFirst =
      normaliseHeader(only) === names.find((name) => known.some((header) => normaliseHeader(header) === name))
    return { ...plain, override: isFirst ? null : only }
  }
  if (sound.length > 1) return { ...plain, override: sound[0] ?? null, choices: sound }
  const [usual] = known
  if (usual !== undefined && known.length === 1 && !doubledNames(table).has(normaliseHeader(usual))) {
    const override = ofPreset.length > 0 ? null : usual
    const shared = sharedKey(table, usual, thesaurus)
    if (shared !== null) return { ...shared, override }
  }
  const candidates = table.headers.filter((header) => isKeyLike(table, header))
  const notes = known.map(
    (header) => `The column "${header}" could be the key, but it is blank for some people or the same for several.`,
  )
  const choices = [...new Set([...known, ...(candidates.length > 0 ? candidates : table.headers)])].filter(
    (header) => header.trim() !== '',
  )
  return { ...plain, override: known[0] ?? candidates[0] ?? null, choices, notes }
}

const plain: KeyColumn = { override: null, choices: [], notes: [], several: null }

/** The column as the key although some rows share one; null: too many do, and nothing shows which row is used, or none does. */
function sharedKey(table: Table, header: string, thesaurus: Thesaurus): KeyColumn | null {
  const cells = cellsOf(table, header)
  const own = new Set(cells.map((cell) => cell.trim())).size
  const lacking = table.rows.length - own
  if (lacking === 0) return null
  const several = severalRowsBy(table, header, thesaurus)
  if (several !== null) return { ...plain, override: header, several, notes: [several.note] }
  if (own < table.rows.length * mostlyOwn) return null
  const note = `"${header}" is the key, and ${lacking === 1 ? '1 row lacks' : `${lacking} rows lack`} one of their own. Such rows are rejected; docs/presets.md says how several rows of a person can count.`
  return { ...plain, override: header, notes: [note] }
}

function isKeyLike(table: Table, header: string): boolean {
  const same = table.headers.filter((other) => normaliseHeader(other) === normaliseHeader(header))
  if (same.length > 1 || normaliseHeader(header) === '') return false
  const cells = cellsOf(table, header)
  // A column of dates or names may happen to hold each value once.
  return (
    cells.length === table.rows.length &&
    new Set(cells).size === cells.length &&
    !cells.every((cell) => /\s/.test(cell.trim()))
  )
}
