import type { Reading } from '../../connectors/connector.ts'
import type { Decider } from '../../identity/decide/decider.ts'
import type { KeyAnswers } from '../../identity/key-change-candidates.ts'
import { pluralize, pluralizePeople } from '../../identity/pluralize.ts'
import { rosterEntries } from '../../store/roster/roster.ts'
import type { Db } from '../../store/schema.ts'
import type { SyncConnection } from '../context/context.ts'
import type { MappedRows } from './map/map-rows.ts'

/** What an operator should look at in a source that was read to its end. */
export function collectWarnings(
  reading: Pick<Reading, 'warnings'>,
  mapping: MappedRows,
  { book, contradicted }: Decider,
): readonly string[] {
  const { older, later, outOfScope, startsAfterLeaving: swapped } = book.counts
  const contradictions = contradicted()
  return [
    ...(reading.warnings?.() ?? []),
    ...(mapping.ok ? mapping.findings() : []),
    ...(outOfScope === 0 ? [] : [`${pluralize(outOfScope, 'row is', 'rows are')} not in scope`]),
    ...(later === 0
      ? []
      : [
          `${pluralize(later, 'row takes', 'rows take')} effect on a later day, and ${later === 1 ? 'waits' : 'wait'} for it`,
        ]),
    ...(older === 0 ? [] : [`${pluralize(older, 'row')} gave way to a newer row of the same person`]),
    ...(contradictions.length === 0
      ? []
      : [
          `the status of ${pluralizePeople(contradictions.length)} says employed, and the last day of employment is over ` +
            `(the first is ${contradictions[0]?.[0]}): they stay separated; ask HR which is right`,
        ]),
    ...(swapped.count === 0
      ? []
      : [
          `in ${pluralize(swapped.count, 'row')} the start lies on or after the leaving date (the first is line ${swapped.line}): the leaving date applies, ` +
            'unless the person had left before that start. Ask HR whether the dates are swapped, or the person was not hired in the end',
        ]),
  ]
}

/** Pinned keys that neither the roster nor the source has: the person may have got another key. */
export async function pinWarnings(
  db: Db,
  { name, pinned }: SyncConnection,
  { decider, answers }: { decider: Decider; answers: KeyAnswers },
): Promise<string[]> {
  const known = await rosterEntries(db, { connection: name, identityIds: [...pinned] })
  const stray = [...pinned].filter((key) => !known.has(key) && !answers.aliases.has(key) && decider.book.lacks(key))
  if (stray.length === 0) return []
  return [
    `no one has ${stray.length === 1 ? 'the pinned key' : 'the pinned keys'} ${stray.join(', ')}: the pin keeps no one safe`,
  ]
}
