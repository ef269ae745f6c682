import type { Change, FieldChange } from '../change.ts'
import { sameRecord } from '../difference.ts'
import { utcMidnight } from '../employment.ts'
import type { FieldName, IdentityRecord, RosterEntry } from '../record.ts'
import type { DesiredState } from './decide.ts'

/** What a run did to one person, and what is known of the time before and after it. */
export type RunEffect = {
  readonly change: Change
  /** The platform acknowledged it. What it refused, or never got, is accepted all the same and would be sent by a later run. */
  readonly isDelivered: boolean
  /** The leaving date that the person had before was inferred. */
  readonly wasInferred: boolean
  /** A newer run that accepted something about the person. */
  readonly changedBy: string | null
}

/** What becomes of it: the person goes back to the former facts, is left to another act that names them, or is left as they are. */
export type UndoResult =
  | { readonly kind: 'back'; readonly state: DesiredState }
  | { readonly kind: 'retract' | 'restore' | 'nothing' }
  | { readonly kind: 'skipped'; readonly reason: string }

/**
 * Takes back what a run itself changed about one person. What an earlier run had accepted, and this one delivered, stays. The times of the
 * facts stay as they were: what is newer than the reverted facts still wins over them, and the next export speaks as it would have. `repairs`: the run read the platform's list, so that what it carried was
 * sent because it was missing there.
 */
export function undo(entry: RosterEntry | undefined, done: RunEffect, { repairs }: { repairs: boolean }): UndoResult {
  const { change, isDelivered, changedBy } = done
  if (change.kind === 'retract') {
    if (!isDelivered) return { kind: 'nothing' }
    return entry?.retracted ? { kind: 'restore' } : skipped('the retraction was taken back since')
  }
  // Of a run that ended long ago the values are removed, and with them what the people were before.
  if (!hasValues(change)) return skipped('the values of the run were removed, as their time was over')
  if (Object.keys(change.fields).length === 0) return { kind: 'nothing' }
  if (entry === undefined) return skipped('nothing is known of them any more')
  if (entry.retracted) return skipped('their data was taken back since')
  if (changedBy !== null) return skipped(`run ${changedBy} accepted a change of them since`)
  if (entry.desired === null || !sameRecord(entry.desired, change.record))
    return skipped('newer facts about them are known')
  if (change.inferred && !entry.inferred) return skipped('HR has stated their leaving date since')
  if (repairs && change.carried) return skipped('the run sent again what the platform had lost or changed')
  const former = formerValues(change)
  if (Object.keys(former).length === 0) return skipped('the run sent again what an earlier one had accepted')
  if (change.kind === 'join' && !wasDesiredBefore(change)) return { kind: 'retract' }
  return { kind: 'back', state: formerState(entry, { sent: change.record, former }, done) }
}

/** The values of fields, without the key of their person. */
type Values = Omit<IdentityRecord, 'identityId'>

/** What the fields that the run itself changed held before: what was desired then, whether the platform had it or not. */
function formerValues({ carried, fields }: Pick<Sent, 'carried' | 'fields'>): Values {
  if (carried) return {}
  const changes = Object.entries(fields) as [FieldName, FieldChange][]
  return Object.fromEntries(
    changes.flatMap(([field, { from, to, desiredBefore = from }]) =>
      desiredBefore === to ? [] : [[field, desiredBefore]],
    ),
  )
}

function wasDesiredBefore({ fields }: Sent): boolean {
  return Object.values(fields).some((changes) => changes?.desiredBefore !== undefined)
}

type Sent = Exclude<Change, { readonly kind: 'retract' }>

function hasValues({
  record,
  fields,
}: {
  readonly record: Sent['record'] | null
  readonly fields: Sent['fields'] | null
}) {
  return record !== null && fields !== null
}

function formerState(
  entry: RosterEntry,
  { sent, former }: { sent: IdentityRecord; former: Values },
  { wasInferred }: RunEffect,
): DesiredState {
  const { asOf, employmentAsOf, exportIsSilent, fieldTimes } = entry
  const times = { asOf, employmentAsOf, exportIsSilent, fieldTimes }
  const desired: IdentityRecord = { ...entry.desired, ...sent, ...former }
  const { separatedAt } = former
  if (separatedAt === undefined) {
    const { inferred, deferredTo, deferredZone, clearedDate, heldDeparture, absences } = entry
    return { desired, inferred, deferredTo, deferredZone, clearedDate, heldDeparture, ...times, absences }
  }
  // A date that counts again is no longer one that a later start has cleared.
  const isCleared = entry.clearedDate !== null && utcMidnight(entry.clearedDate) === separatedAt
  return {
    desired,
    inferred: separatedAt !== null && wasInferred,
    deferredTo: null,
    deferredZone: null,
    clearedDate: isCleared ? null : entry.clearedDate,
    heldDeparture: null,
    ...times,
    absences: 0,
  }
}

function skipped(reason: string): UndoResult {
  return { kind: 'skipped', reason }
}
