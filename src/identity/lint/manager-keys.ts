import { pluralize } from '../pluralize.ts'
import type { Observation } from '../record.ts'
import { column, type LintScope } from './watch.ts'

/** A row. A rejected row, or one out of scope, has only a key. */
type ManagerRow = { readonly identityId: string | null } & Partial<Pick<Observation, 'fields' | 'origin'>>

type ManagerKeys = {
  /** Takes every row of an export that lists everybody. */
  readonly addRow: (row: ManagerRow) => void
  /** A sentence if the export does not list many of the managers. Complete after the last row. */
  readonly finding: () => string | null
}

/** Below this share, the unknown managers may be leavers who are not listed. */
const manyUnknown = 0.1

/** How a manager's key may differ from the key in the manager's own row, and what helps. */
const causes: readonly { readonly plain: (key: string) => string; readonly cause: string }[] = [
  {
    plain: (key) => key.replace(/\.0+$/, ''),
    cause: 'one of the columns has whole numbers as decimals (1001.0 for 1001): have the report write whole numbers',
  },
  {
    plain: (key) => key.replace(/^0+(?=.)/, ''),
    cause: 'one of the columns has lost leading zeros (1001 for 001001): export both as text',
  },
  { plain: (key) => key.toLowerCase(), cause: 'they differ in upper and lower case: have the report write both alike' },
]

/** Finds exports whose manager keys belong to nobody. Keeps all keys in memory, so it is meant for previews. */
export function watchManagerKeys({ columns }: Pick<LintScope, 'columns'>): ManagerKeys {
  const keys = new Set<string>()
  /** The line of the first person of each manager. */
  const managers = new Map<string, number>()
  return {
    addRow({ identityId, fields, origin }) {
      if (identityId !== null) keys.add(identityId)
      const manager = fields?.managerId
      if (typeof manager === 'string' && origin !== undefined && !managers.has(manager))
        managers.set(manager, origin.line)
    },
    finding() {
      const unknown = [...managers].filter(([manager]) => !keys.has(manager))
      const [first] = unknown
      if (first === undefined || unknown.length < managers.size * manyUnknown) return null
      const alike = causes.find(({ plain }) => {
        const plainKeys = new Set([...keys].map(plain))
        return unknown.filter(([manager]) => plainKeys.has(plain(manager))).length * 2 >= unknown.length
      })
      const cause =
        alike?.cause ?? `look whether the column holds keys as ${column(columns.identityId)} does, or send no manager`
      return (
        `${unknown.length} of ${pluralize(managers.size, 'manager')} (${column(columns.managerId)}) ` +
        `${unknown.length === 1 ? 'is' : 'are'} the key of nobody in the export, such as in line ${first[1]}; ${cause}`
      )
    },
  }
}
