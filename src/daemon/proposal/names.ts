import type { MappingPatch } from '../../identity/mapping/mapping.ts'
import { cellsOf, share } from './cells.ts'
import type { ProposedField } from './proposal.ts'
import type { Table } from './table.ts'
import type { Thesaurus } from './thesaurus.ts'

/** How first and last names are split from a column that holds both. */
type SplitNames = {
  readonly patch: NonNullable<MappingPatch['fields']>
  readonly fields: readonly ProposedField[]
  readonly note: string
}

const maxExamplesShown = 3
const mostlyTwo = 0.8

/**
 * Splits "Ana Okoro" at its first blank and "Okoro, Ana" at its comma; null: no column holds both names. Where the last name stands
 * first and no comma ends it, nothing is split: "García López Ana" does not show how many words it has.
 */
export function splitNames(table: Table, thesaurus: Thesaurus): SplitNames | null {
  const header = table.headers.find(
    (one) => isFullName(one, thesaurus) && !one.includes('`') && holdsBothNames(cellsOf(table, one)),
  )
  if (header === undefined) return null
  const cells = cellsOf(table, header)
  const byComma = share(cells, (cell) => cell.includes(',')) > mostlyTwo
  if (!byComma && thesaurus.isCalled(header, 'lastNameFirst')) return { patch: {}, fields: [], note: unsplit(header) }
  const text = `$trim(\`${header}\`)`
  const sign = byComma ? ',' : ' '
  const [before, after] = [`$trim($substringBefore(${text}, "${sign}"))`, `$trim($substringAfter(${text}, "${sign}"))`]
  // Without the sign, $substringAfter would give the whole text once more.
  const behind = `$contains(${text}, "${sign}") ? ${after} : ""`
  const [first, last] = byComma ? [behind, before] : [before, behind]
  const example = (part: 0 | 1) =>
    [...new Set(cells)].slice(0, maxExamplesShown).map((cell) => partsOf(cell, sign)[part])
  const why = byComma ? 'what stands behind the comma' : 'what stands before the first blank'
  const whyLast = byComma ? 'what stands before the comma' : 'what stands behind the first blank'
  return {
    patch: { firstName: { expression: first }, lastName: { expression: last } },
    fields: [
      { field: 'firstName', column: header, examples: example(byComma ? 1 : 0), why },
      { field: 'lastName', column: header, examples: example(byComma ? 0 : 1), why: whyLast },
    ],
    note: `No column holds a first or a last name. "${header}" is split at ${byComma ? 'the comma' : 'its first blank'}: look whether names of more than two words come out right, else change the expressions of firstName and lastName.`,
  }
}

function isFullName(header: string, thesaurus: Thesaurus): boolean {
  return thesaurus.isCalled(header, 'fullName') || thesaurus.isCalled(header, 'lastNameFirst')
}

function unsplit(header: string): string {
  return `No names are sent: "${header}" has the last name first, and nothing shows where it ends. Have both names exported in columns of their own.`
}

function holdsBothNames(cells: readonly string[]): boolean {
  return (
    cells.length > 0 &&
    share(cells, (cell) => /[\p{L}\p{N}.][,\s]+\p{L}/u.test(cell) && !cell.includes('@')) > mostlyTwo
  )
}

function partsOf(cell: string, sign: string): [string, string] {
  const text = cell.trim()
  const at = text.indexOf(sign)
  return at < 0 ? [text, ''] : [text.slice(0, at).trim(), text.slice(at + 1).trim()]
}
