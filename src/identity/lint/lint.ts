import { isReject, type MappableRow } from '../mapping/rows.ts'
import type { Reject, Observation } from '../record.ts'
import { watchDateFormats, watchPlaceholderDates, watchSameDates, watchTwoDigitYears } from './dates.ts'
import { watchInvisibleKeys, watchScientificKeys, watchSeveralRows, watchShrunkKeys } from './keys.ts'
import { watchAddresses, watchBlankColumns, watchLeavers, watchManagers } from './people.ts'
import { type RowTraits, readTraits } from './traits.ts'
import { type LintScope, maxSampleSize, type ReadTraits, type SparedRow, type Watch } from './watch.ts'

/** The checks. Those of a snapshot rest on the export listing everybody, and say nothing about a delta. */
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
} as const satisfies Record<string, { needsSnapshot: boolean; watch: (scope: LintScope) => Watch[] }>

type LintCheck = keyof typeof checks

export const lintChecks = Object.keys(checks) as [LintCheck, ...LintCheck[]]

/** What a preset knows of its system, said whenever the check finds something. */
export type Trap = { readonly check: LintCheck; readonly warn: string }

/** Something about an export that an operator should look at, though its rows can be read. Holds no personal values. */
type Finding = { readonly check: LintCheck; readonly message: string; readonly line?: number }

export type Lint = {
  /** To be shown every row with what the mapping told of it, in the order of the export. */
  readonly see: (row: MappableRow, told: Observation | Reject) => void
  /** Whether rows with these traits need not be shown any more. `knowsAddress`: where it is known what the addresses in them are compared by. */
  readonly spares: (traits: RowTraits, knowsAddress: boolean) => boolean
  /** Takes so many rows into account that were not shown. */
  readonly spare: (traits: RowTraits, times: number) => void
  /** Whether rows that are not shown are also to be named one by one, in their order among all others. */
  readonly wantsEach: () => boolean
  readonly spareOne: (traits: RowTraits, row: Omit<SparedRow, 'traits'>) => void
  readonly findings: () => Finding[]
}

/** Looks over one export while it is read. Memory is bounded, however long the export is. */
export function createLint({
  mode,
  traps = [],
  sampleSize = maxSampleSize,
  addressOf = (email) => email,
  ...about
}: Omit<LintScope, 'sampleSize' | 'addressOf'> & {
  readonly mode: 'snapshot' | 'delta'
  readonly traps?: readonly Trap[]
  readonly sampleSize?: number
  readonly addressOf?: LintScope['addressOf']
}): Lint {
  const scope = { ...about, sampleSize, addressOf }
  const chosen = lintChecks.filter((check) => mode === 'snapshot' || !checks[check].needsSnapshot)
  const watches = chosen.flatMap((check) => checks[check].watch(scope).map((watch: Watch) => ({ check, ...watch })))
  const ofObservations = watches.flatMap(({ see, ...spared }) => (see ? [{ see, ...spared }] : []))
  const known = new Map<RowTraits, ReadTraits>()
  const read = (traits: RowTraits): ReadTraits => {
    const before = known.get(traits) ?? readTraits(traits)
    known.set(traits, before)
    return before
  }
  const ofRejects = watches.flatMap(({ seeReject }) => (seeReject ? [seeReject] : []))
  let people = 0

  return {
    see(row, told) {
      if (isReject(told)) {
        for (const see of ofRejects) see(told, row)
        return
      }
      people += 1
      for (const cell of told.badCells ?? []) for (const see of ofRejects) see(cell, row)
      for (let index = ofObservations.length - 1; index >= 0; index -= 1) {
        if (ofObservations[index]?.see(told, row)) ofObservations.splice(index, 1)
      }
    },
    spares: (traits, knowsAddress) => ofObservations.every(({ spares }) => spares?.(read(traits), knowsAddress)),
    spare(traits, times) {
      people += times
      for (const { spare } of ofObservations) spare?.(read(traits), times)
    },
    wantsEach: () => ofObservations.some(({ spareOne }) => spareOne),
    spareOne(traits, row) {
      for (let index = ofObservations.length - 1; index >= 0; index -= 1) {
        if (ofObservations[index]?.spareOne?.({ traits: read(traits), ...row })) ofObservations.splice(index, 1)
      }
    },
    findings: () =>
      watches.flatMap(({ check, found }) => {
        const finding = found(people)
        if (finding === null) return []
        const warnings = traps.filter((trap) => trap.check === check).map(({ warn }) => warn)
        return [{ check, ...finding, message: [finding.message, ...warnings].join('; ') }]
      }),
  }
}
