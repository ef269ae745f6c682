import type { MappingPatch } from '../../identity/mapping/mapping.ts'
import type { Texts } from './cells.ts'

/** What is wrong with the keys of managers, and how to fix it. */
type ManagerKeys = { readonly patch: NonNullable<MappingPatch['fields']>; readonly note: string }

/** From this share on, the column is wrong, instead of single people missing. */
const manyUnknown = 0.5
const asDecimal = /^(\d+)\.0+$/

/** Checks whether managers are people of the export; null if most are, if there are none, or if only a part of the export was read. */
export function managerKeys(texts: Texts, { isWhole }: { readonly isWhole: boolean }): ManagerKeys | null {
  const managerColumn = texts.get('managerId')
  const key = texts.get('identityId')
  if (managerColumn === undefined || key === undefined || !isWhole) return null
  const keys = new Set(key.texts.map((text) => text.trim()))
  const managers = managerColumn.texts.map((text) => text.trim()).filter((text) => text !== '')
  const unknown = managers.filter((text) => !keys.has(text))
  if (unknown.length === 0 || unknown.length < managers.length * manyUnknown) return null
  const rows = `${unknown.length} of ${managers.length} managers in "${managerColumn.column}" are the key of nobody`
  const fixed = unknown.filter((text) => keys.has(asDecimal.exec(text)?.[1] ?? ''))
  const [example] = fixed
  if (example !== undefined && fixed.length >= unknown.length * manyUnknown && !/[`,]/.test(managerColumn.column))
    return {
      patch: { managerId: { expression: `$replace(\`${managerColumn.column}\`, /\\.0+$/, "")` } },
      note: `${rows}: they are written as decimals, such as ${example} for the key ${asDecimal.exec(example)?.[1]}. The decimals are removed (managerId); better have the report write whole numbers.`,
    }
  return {
    patch: {},
    note: `${rows}: look whether "${managerColumn.column}" holds keys as "${key.column}" does. Else take another column, or send no manager.`,
  }
}
