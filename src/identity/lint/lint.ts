import { isReject, type MappableRow } from '../mapping/rows.ts'
import type { Observation, Reject } from '../record.ts'
import { watchDateFormats, watchPlaceholderDates, watchSameDates, watchTwoDigitYears } from './dates.ts'
import { watchInvisibleKeys, watchScientificKeys, watchSeveralRows, watchShrunkKeys } from './keys.ts'
import { watchAddresses, watchBlankColumns, watchLeavers, watchManagers } from './people.ts'
import { type RowTraits, readTraits } from './traits.ts'
import { type Check, type Finding, type LintScope, maxSampleSize, type ReadTraits, type TraitsRow } from './watch.ts'

/** The checks. `needsSnapshot`: the check makes sense only for an export of everybody. */
const checks = {
  'no-leavers': { needsSnapshot: true, watch: watchLeavers },
  'key-scientific': { needsSnapshot: false, watch: watchScientificKeys },
  'key-invisible': { needsSnapshot: false, watch: watchInvisibleKeys },
  'key-shrank': { needsSnapshot: false, watch: watchShrunkKeys },
  'several-rows': { needsSnapshot: true, watch: watchSeveralRows },
  'manager-by-name': { needsSnapshot: false, watch: watchManagers },
  'same-email': { needsSnapshot: false, watch: watchAddresses },
  'blank-column': { needsSnapshot: true, watch: watchBlankColumns },
  'all-same-date': { needsSnapshot: true, watch: watchSameDates },
  'two-digit-year': { needsSnapshot: false, watch: watchTwoDigitYears },
  'placeholder-date': { needsSnapshot: false, watch: watchPlaceholderDates },
  'date-format': { needsSnapshot: false, watch: watchDateFormats },
} as const satisfies Record<string, { needsSnapshot: boolean; watch: (scope: LintScope) => Check[] }>

type LintCheck = keyof typeof checks

/** The names of all checks. */
export const lintChecks = Object.keys(checks) as [LintCheck, ...LintCheck[]]

/** A known problem of the system of a preset, appended to the message if the check finds something. */
export type Trap = { readonly check: LintCheck; readonly warn: string }

/** A warning for an operator about an export with readable rows. Contains no personal values. */
type NamedFinding = Finding & { readonly check: LintCheck }

/** The checks of one export. */
export type Lint = {
  /** Adds a row with its mapped form, in the order of the export. */
  readonly addRow: (row: MappableRow, mapped: Observation | Reject) => void
  /** Whether the traits of a row are enough for all checks. `hasAddress`: the form of its e-mail address for comparison is known too. */
  readonly areTraitsEnough: (traits: RowTraits, hasAddress: boolean) => boolean
  /** Adds this many rows by their traits. */
  readonly addByTraits: (traits: RowTraits, rows: number) => void
  /** Whether a check also needs rows that are added by their traits one by one, in their order among all rows. */
  readonly needsOrder: () => boolean
  /** Adds a row that `addByTraits` counts, in its order among all rows. */
  readonly addInOrder: (traits: RowTraits, row: Omit<TraitsRow, 'traits'>) => void
  /** The findings of the checks. Complete after the last row. */
  readonly findings: () => NamedFinding[]
}

type LintInput = Omit<LintScope, 'sampleSize' | 'addressOf'> & {
  readonly mode: 'snapshot' | 'delta'
  readonly traps?: readonly Trap[]
  readonly sampleSize?: number
  readonly addressOf?: LintScope['addressOf']
}

/** Checks one export while it is read. Memory is bounded, however long the export is. */
export function createLint({
  mode,
  traps = [],
  sampleSize = maxSampleSize,
  addressOf = (email) => email,
  ...about
}: LintInput): Lint {
  const scope = { ...about, sampleSize, addressOf }
  const chosen = lintChecks.filter((check) => mode === 'snapshot' || !checks[check].needsSnapshot)
  const all = chosen.flatMap((name) => checks[name].watch(scope).map((check: Check) => ({ name, ...check })))
  const ofRejects = all.flatMap(({ addReject }) => (addReject ? [addReject] : []))
  /** The checks whose finding further rows can change. */
  const open = all.flatMap(({ addRow, traits }) => (addRow ? [{ addRow, traits }] : []))
  const decode = rememberTraits()
  let people = 0

  /** Passes a row to each open check, and closes checks that need no more rows. */
  function giveToOpen(give: (check: (typeof open)[number]) => boolean | undefined): void {
    for (let index = open.length - 1; index >= 0; index -= 1) {
      const check = open[index]
      if (check && give(check)) open.splice(index, 1)
    }
  }

  return {
    addRow(row, mapped) {
      if (isReject(mapped)) {
        for (const addReject of ofRejects) addReject(mapped, row)
        return
      }
      people += 1
      for (const cell of mapped.badCells ?? []) for (const addReject of ofRejects) addReject(cell, row)
      giveToOpen(({ addRow }) => addRow(mapped, row))
    },
    areTraitsEnough: (traits, hasAddress) =>
      open.every((check) => check.traits?.areEnough(decode(traits), hasAddress) ?? false),
    addByTraits(traits, rows) {
      people += rows
      for (const check of open) check.traits?.add?.(decode(traits), rows)
    },
    needsOrder: () => open.some((check) => check.traits?.addInOrder),
    addInOrder: (traits, row) => giveToOpen((check) => check.traits?.addInOrder?.({ traits: decode(traits), ...row })),
    findings: () =>
      all.flatMap(({ name, finding }) => {
        const result = finding(people)
        return result === null ? [] : [{ check: name, ...result, message: withWarnings(result.message, name, traps) }]
      }),
  }
}

/** Appends the warnings of a preset. */
function withWarnings(message: string, name: LintCheck, traps: readonly Trap[]): string {
  return [message, ...traps.filter(({ check }) => check === name).map(({ warn }) => warn)].join('; ')
}

/** Decodes traits once for all rows that share them. */
function rememberTraits(): (traits: RowTraits) => ReadTraits {
  const known = new Map<RowTraits, ReadTraits>()
  return (traits) => {
    const decoded = known.get(traits) ?? readTraits(traits)
    known.set(traits, decoded)
    return decoded
  }
}
