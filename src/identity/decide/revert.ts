import type { Change, FieldChange } from '../change.ts'
import { sameRecord } from '../difference.ts'
import { utcMidnight } from '../employment.ts'
import type { FieldName, IdentityRecord, RosterEntry } from '../record.ts'
import type { DesiredState } from './decide.ts'

/** What a run changed about one person, and what happened before and after it. */
export type RunEffect = {
  readonly change: Change
  /** The platform acknowledged the change. An accepted change that it refused or never got is sent by a later run. */
  readonly isDelivered: boolean
  /** The previous leaving date of the person was inferred. */
  readonly wasInferred: boolean
  /** A newer run that accepted a change of the person; null if there is none. */
  readonly changedBy: string | null
}

/** How a change is undone: the former state returns, another command is needed, nothing is needed, or the person is skipped. */
export type UndoResult =
  | { readonly kind: 'back'; readonly state: DesiredState }
  | { readonly kind: 'retract' | 'restore' | 'nothing' }
  | { readonly kind: 'skipped'; readonly reason: string }

/**
 * Undoes what a run itself changed about one person. Changes that an earlier run accepted and this one delivered stay. The times of the
 * facts stay too: newer facts still win over the reverted ones, and the next export applies as usual. `repairs`: the run read the
 * platform's list, so its carried changes were sent because the platform lacked them.
 */
export function undo(entry: RosterEntry | undefined, effect: RunEffect, { repairs }: { repairs: boolean }): UndoResult {
  const { change, isDelivered, changedBy } = effect
  if (change.kind === 'retract') {
    if (!isDelivered) return { kind: 'nothing' }
    return entry?.retracted ? { kind: 'restore' } : skipped('the retraction was undone since')
  }
  // The values of old runs are removed, and with them the former values.
  if (!hasValues(change)) return skipped('the values of the run were removed, as their time was over')
  if (Object.keys(change.fields).length === 0) return { kind: 'nothing' }
  if (entry === undefined) return skipped('nothing is known of them any more')
  if (entry.retracted) return skipped('they were retracted since')
  if (entry.isByOperator && change.fields.separatedAt)
    return skipped('an operator states their departure: `rollcall leave KEY --withdraw`')
  if (changedBy !== null) return skipped(`run ${changedBy} accepted a change of them since`)
  if (entry.desired === null || !sameRecord(entry.desired, change.record))
    return skipped('newer facts about them are known')
  if (change.inferred && !entry.inferred) return skipped('HR has stated their leaving date since')
  if (repairs && change.carried) return skipped('the run sent again what the platform had lost or changed')
  const former = formerValues(change)
  if (Object.keys(former).length === 0) return skipped('the run sent again what an earlier one had accepted')
  if (change.kind === 'join' && !wasDesiredBefore(change)) return { kind: 'retract' }
  return { kind: 'back', state: formerState(entry, { sent: change.record, former }, effect) }
}

/** The values of fields, without the key of their person. */
type Values = Omit<IdentityRecord, 'identityId'>

/** The values desired before the run in the fields that it changed, whether the platform had them or not. */
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
    const { inferred, deferredTo, deferredZone, clearedDate, heldDeparture, isByOperator, absences } = entry
    const employment = { inferred, deferredTo, deferredZone, clearedDate, heldDeparture, isByOperator }
    return { desired, ...employment, ...times, absences }
  }
  // The date applies again, so it is no longer cleared by a later start.
  const isCleared = entry.clearedDate !== null && utcMidnight(entry.clearedDate) === separatedAt
  return {
    desired,
    inferred: separatedAt !== null && wasInferred,
    deferredTo: null,
    deferredZone: null,
    clearedDate: isCleared ? null : entry.clearedDate,
    heldDeparture: null,
    isByOperator: false,
    ...times,
    absences: 0,
  }
}

function skipped(reason: string): UndoResult {
  return { kind: 'skipped', reason }
}
