import { isLeaver, isEmployed } from '../employment.ts'
import type { IdentityRecord, RosterEntry } from '../record.ts'
import { type KeyChangeCandidate, watchKeys } from '../key-change-candidates.ts'
import type { Decision, PlanContext, PersonInput } from './decide.ts'

/** Looks among decisions for people who seem to have got a new key: who joins under one, and who is gone under another. */
export function watchKeyChanges(context: PlanContext, twoPeople: ReadonlySet<string>) {
  const keys = watchKeys({ differentPeople: twoPeople })
  return {
    /** A row named the person. */
    told(entry: RosterEntry | undefined, { entry: side, news: { kinds } }: Decision): void {
      const known = recordOf(entry)
      if (kinds.includes('joiners')) {
        const joined = side?.desired ?? null
        if (joined !== null && !isLeaver(joined, context.today)) keys.joins(joined.identityId, joined)
      } else if (known !== null && (kinds.includes('leavers') || isAnnounced(entry, side))) {
        keys.leaves(known.identityId, known)
      }
    },
    /** No row that can be used named the person, once no row can come any more. */
    unseen(entry: RosterEntry, { isAbsent: absent, news }: Decision, seen: PersonInput): void {
      const known = recordOf(entry)
      if (known === null || context.mode !== 'snapshot' || seen !== 'absent') return
      // Where absence means nothing, a person who is not there is not gone. Under a new key they may be there all the same.
      const isMissing = context.absence === 'ignore' && isEmployed(entry, context.today)
      if (absent || isMissing || news.kinds.includes('leavers')) keys.vanishes(entry.identityId, known)
    },
    /** A decision was taken back. */
    forget: (identityId: string): void => keys.forget(identityId),
    /** The people who seem to have got a new key. Complete once everybody is decided about. */
    candidates: (): KeyChangeCandidate[] => keys.candidates(),
  }
}

function recordOf(entry: RosterEntry | undefined): IdentityRecord | null {
  return entry?.desired ?? entry?.confirmed ?? null
}

/** Whether a leaving date that lies ahead is stated for the first time. */
function isAnnounced(entry: RosterEntry | undefined, side: Decision['entry']): boolean {
  return side !== null && side.deferredTo !== null && (entry?.deferredTo ?? null) === null
}
