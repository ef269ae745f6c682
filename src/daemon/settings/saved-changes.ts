import { randomUUID } from 'node:crypto'
import type { SettingsDifference } from '../../contract/control/settings-changes.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import {
  removeChange,
  removeFormerChanges,
  type SettingsChange,
  storeSavedChange,
  storeWaitingChange,
} from '../../store/settings-changes.ts'
import { digestOf } from '../config/configuration-digest.ts'
import { writeConfig } from '../config/write-config.ts'
import type { VisitParts } from '../proposal/first-parts.ts'
import { recordedDifference } from './difference.ts'

/** Who changes settings: the name, and the principal for the rule of two people. */
export type Actor = { readonly by: string; readonly principal: string }

/** `waits`: nothing was saved, as a second person has to approve it. `isTakenUp`: the daemon reloads by itself. */
export type Outcome = {
  readonly connection: string
  readonly file: string
  readonly waits: boolean
  readonly isTakenUp: boolean
}

type Parts = Pick<VisitParts, 'config' | 'sync' | 'takeUp'>

type NewChange = {
  readonly connection: string
  readonly before: string
  readonly after: string
  readonly difference: SettingsDifference
  readonly isUndo: boolean
  readonly actor: Actor
}

const hourMs = 60 * 60_000

/** Saves a change that nobody has to approve, and reloads. */
export async function saveChange(parts: Parts, { actor, isUndo, difference, ...change }: NewChange): Promise<Outcome> {
  const saved = { ...change, ...actor, id: randomUUID(), at: parts.sync.now() }
  return await write(parts, saved, { difference, ...(isUndo && { undo: true }) })
}

/** Stores a change until a second person approves it. */
export async function proposeChange(
  { config, sync }: Parts,
  { actor, isUndo, difference, ...change }: NewChange,
  expireHours: number,
): Promise<Outcome> {
  const { connection } = change
  const now = sync.now()
  const expiresAt = new Date(now.getTime() + expireHours * hourMs)
  const { file } = config
  await sync.store.db.transaction().execute(async (tx) => {
    await storeWaitingChange(tx, { ...change, ...actor, file, id: randomUUID(), at: now, expiresAt })
    const details = {
      ...{ file, configuration: digestOf(change.after), until: expiresAt.toISOString() },
      ...(isUndo && { undo: true }),
      difference: recordedDifference(difference),
    }
    await recordAuditEntry(tx, { act: 'settings.proposed', connection, by: actor.by, details, now })
  })
  return { connection, file, waits: true, isTakenUp: false }
}

/** Saves a change that another person proposed, and reloads. */
export async function approveChange(
  parts: Parts,
  { waiting, difference, actor }: { waiting: SettingsChange; difference: SettingsDifference; actor: Actor },
): Promise<Outcome> {
  const { expiresAt: _, ...change } = waiting
  return await write(parts, change, { difference, approvedBy: actor.by })
}

/** Removes a change that waits. */
export async function rejectChange(
  { config, sync }: Parts,
  { id, connection, by: proposedBy, after }: SettingsChange,
  { by }: Actor,
): Promise<Outcome> {
  const { file } = config
  await sync.store.db.transaction().execute(async (tx) => {
    if (!(await removeChange(tx, id))) return
    const details = { file, configuration: digestOf(after), proposedBy }
    await recordAuditEntry(tx, { act: 'settings.rejected', connection, by, details, now: sync.now() })
  })
  return { connection, file, waits: false, isTakenUp: false }
}

type ToWrite = Omit<SettingsChange, 'expiresAt' | 'file'>
type WrittenDetails = {
  readonly difference: SettingsDifference
  readonly approvedBy?: string
  readonly undo?: boolean
}

/**
 * Records the change, then replaces the file, then reloads: a file that was replaced is in the audit trail, whenever the process ends. A
 * change whose file was not replaced is never offered to be undone, as the file differs from its text.
 */
async function write(
  { config, sync, takeUp }: Parts,
  change: ToWrite,
  { difference, ...others }: WrittenDetails,
): Promise<Outcome> {
  const { file } = config
  const { connection, by, after } = change
  const about = { file, configuration: digestOf(after) }
  await sync.store.db.transaction().execute(async (tx) => {
    await removeChange(tx, change.id)
    await storeSavedChange(tx, { ...change, file })
    const details = { ...about, ...others, difference: recordedDifference(difference) }
    await recordAuditEntry(tx, { act: 'settings.changed', connection, by, details, now: sync.now() })
  })
  try {
    await writeConfig(file, after, { replaces: change.before })
  } catch (error) {
    await sync.store.db.transaction().execute(async (tx) => {
      await removeChange(tx, change.id)
      await recordAuditEntry(tx, { act: 'settings.failed', connection, by, details: about, now: sync.now() })
    })
    throw error
  }
  await removeFormerChanges(sync.store.db, { id: change.id, file })
  takeUp?.()
  return { connection, file, waits: false, isTakenUp: takeUp !== null }
}
