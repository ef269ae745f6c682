import { isEmployed, isLeaver } from '../employment.ts'
import { type KeyChangeCandidate, matchKeys } from '../key-change-candidates.ts'
import type { IdentityRecord, RosterEntry } from '../record.ts'
import type { Decision, PersonInput, PlanContext } from './decide.ts'

/** Finds people whose key seems to have changed: they join under one key and are gone under another. */
export type KeyChanges = {
  /** Takes a decision about a person whom a row names. */
  readonly addObserved: (entry: RosterEntry | undefined, decision: Decision) => void
  /** Takes a decision about a person whom no usable row names, once there are no more rows. */
  readonly addUnobserved: (entry: RosterEntry, decision: Decision, input: PersonInput) => void
  /** Forgets a decision that was discarded. */
  readonly forget: (identityId: string) => void
  /** The people whose key seems to have changed. Complete once everybody is decided about. */
  readonly candidates: () => KeyChangeCandidate[]
}

/** Finds nothing: for a roster that knows nobody yet, so that no key can have changed. */
export const noKeyChanges: KeyChanges = {
  addObserved: () => {},
  addUnobserved: () => {},
  forget: () => {},
  candidates: () => [],
}

/** Finds key changes. `differentPeople`: pairs of keys that are two people, by `candidateName`. */
export function findKeyChanges(context: PlanContext, differentPeople: ReadonlySet<string>): KeyChanges {
  const keys = matchKeys(differentPeople)
  return {
    addObserved(entry, { entry: state, news: { kinds } }) {
      const known = recordOf(entry)
      if (kinds.includes('joiners')) {
        const joined = state?.desired ?? null
        if (joined !== null && !isLeaver(joined, context.today)) keys.addJoiner(joined.identityId, joined)
      } else if (
        known !== null &&
        (kinds.includes('leavers') || isAnnounced(entry, state) || hrFollows(entry, state, context))
      ) {
        keys.addLeaver(known.identityId, known)
      }
    },
    addUnobserved(entry, { isAbsent, news }, input) {
      const known = recordOf(entry)
      if (known === null || context.mode !== 'snapshot' || input !== 'absent') return
      // If absence is ignored, an absent person is not a leaver but may be present under a new key.
      const isMissing = context.absence === 'ignore' && isEmployed(entry, context.today)
      if (isAbsent || isMissing || isEmployedByHr(entry) || news.kinds.includes('leavers'))
        keys.addAbsent(entry.identityId, known)
    },
    forget: keys.forget,
    candidates: keys.candidates,
  }
}

function recordOf(entry: RosterEntry | undefined): IdentityRecord | null {
  return entry?.desired ?? entry?.confirmed ?? null
}

/** Whether an operator states the departure of a person whom HR still states as employed. Keys follow the view of HR. */
function isEmployedByHr(entry: RosterEntry | undefined): boolean {
  return entry?.isByOperator === true && !entry.inferred
}

/** Whether HR states a departure that an operator stated before. */
function hrFollows(
  entry: RosterEntry | undefined,
  state: Decision['entry'],
  { today }: Pick<PlanContext, 'today'>,
): boolean {
  if (!isEmployedByHr(entry) || state === null || state.desired === null) return false
  return state.inferred || (!state.isByOperator && isLeaver(state.desired, today))
}

/** Whether a future leaving date is stated for the first time. */
function isAnnounced(entry: RosterEntry | undefined, state: Decision['entry']): boolean {
  return state !== null && state.deferredTo !== null && (entry?.deferredTo ?? null) === null
}
