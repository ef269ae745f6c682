import type { MappingPatch } from '../../identity/mapping/mapping.ts'
import type { Texts } from './cells.ts'

/** What is wrong with the keys of managers, and what mends it. */
type ManagerKeys = { readonly patch: NonNullable<MappingPatch['fields']>; readonly note: string }

/** From this share on, it is no matter of single people who are missing. */
const manyUnknown = 0.5
const asDecimal = /^(\d+)\.0+$/

/** Looks whether managers are people of the export; null: most are, or there are none. Nobody is looked for in a part of an export. */
export function managerKeys(texts: Texts, { isWhole }: { readonly isWhole: boolean }): ManagerKeys | null {
  const found = texts.get('managerId')
  const key = texts.get('identityId')
  if (found === undefined || key === undefined || !isWhole) return null
  const keys = new Set(key.texts.map((text) => text.trim()))
  const managers = found.texts.map((text) => text.trim()).filter((text) => text !== '')
  const unknown = managers.filter((text) => !keys.has(text))
  if (unknown.length === 0 || unknown.length < managers.length * manyUnknown) return null
  const rows = `${unknown.length} of ${managers.length} managers in "${found.column}" are the key of nobody`
  const mended = unknown.filter((text) => keys.has(asDecimal.exec(text)?.[1] ?? ''))
  const [example] = mended
  if (example !== undefined && mended.length >= unknown.length * manyUnknown && !/[`,]/.test(found.column))
    return {
      patch: { managerId: { expression: `$replace(\`${found.column}\`, /\\.0+$/, "")` } },
      note: `${rows}: they are written as decimals, such as ${example} for the key ${asDecimal.exec(example)?.[1]}. The decimals are removed (managerId); better have the report write whole numbers.`,
    }
  return {
    patch: {},
    note: `${rows}: look whether "${found.column}" holds keys as "${key.column}" does. Else take another column, or send no manager.`,
  }
}
