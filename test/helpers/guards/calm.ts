import { type GuardFacts, noPeople } from '../../../src/identity/guards/facts.ts'

/** What the guards see of a night on which nothing happens. */
export const calm: GuardFacts = {
  mode: 'snapshot',
  rows: 1000,
  size: null,
  endMissing: false,
  headcount: 1000,
  ...noPeople,
  recent: noPeople,
  usual: null,
  retractions: 0,
  pinned: 0,
  reusedKeys: 0,
  rejected: 0,
  incomplete: 0,
  knownFaulty: 0,
  unlisted: { values: [], count: 0, known: 0 },
  unreadableKeys: 0,
  knownUnreadableKeys: 0,
  absent: 0,
  missingColumns: [],
  pairs: [],
  absence: 'separate',
}
