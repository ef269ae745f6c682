import { randomUUID } from 'node:crypto'
import { readFile, realpath } from 'node:fs/promises'
import type { SettingsDifference } from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import { recordAuditEntry } from '../../store/audit/trail.ts'
import {
  beginWriting,
  beingWritten,
  endWriting,
  removeWaiting,
  type SettingsChange,
  storeWaitingChange,
  takeBack,
  waitingChange,
} from '../../store/settings-changes.ts'
import { findDrafts, removeDrafts } from '../../system/replace-file.ts'
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
  const saved = {
    ...change,
    ...actor,
    id: randomUUID(),
    at: parts.sync.now(),
    file: parts.config.file,
    expiresAt: null,
  }
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
    const replaced = await waitingChange(tx, { connection, now })
    await storeWaitingChange(tx, { ...change, ...actor, file, id: randomUUID(), at: now, expiresAt })
    const details = {
      ...{ file, configuration: digestOf(change.after), until: expiresAt.toISOString() },
      ...(isUndo && { undo: true }),
      ...(replaced && { replaces: digestOf(replaced.after) }),
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
  return await write(parts, waiting, { difference, approvedBy: actor.by })
}

/** Removes a change that waits. */
export async function rejectChange(
  { config, sync }: Parts,
  { id, connection, by: proposedBy, after }: SettingsChange,
  { by }: Actor,
): Promise<Outcome> {
  const { file } = config
  await sync.store.db.transaction().execute(async (tx) => {
    if (!(await removeWaiting(tx, id))) throw new Failure('conflict', decided)
    const details = { file, configuration: digestOf(after), proposedBy }
    await recordAuditEntry(tx, { act: 'settings.rejected', connection, by, details, now: sync.now() })
  })
  return { connection, file, waits: false, isTakenUp: false }
}

type WrittenDetails = {
  readonly difference: SettingsDifference
  readonly approvedBy?: string
  readonly undo?: boolean
}

/** Why a change that waited can be neither approved nor rejected. */
export const decided = 'this change no longer waits: it was decided, replaced, or has expired'
/** After this time, a change that is still being written is one whose process has ended. */
const maxWriteMs = 10_000

/**
 * Records the change, then replaces the file, then reloads: a file that was replaced is in the audit trail, whenever the process ends. If
 * the file cannot be replaced, that is recorded too, and a change that waited waits again.
 */
async function write(
  { config, sync, takeUp }: Parts,
  change: SettingsChange,
  { difference, ...others }: WrittenDetails,
): Promise<Outcome> {
  const { file } = config
  const { connection, by, after } = change
  await sync.store.db.transaction().execute(async (tx) => {
    const isBusy = (await beingWritten(tx, file)) !== null
    if (isBusy || !(await beginWriting(tx, { ...change, file }, sync.now())))
      throw new Failure('conflict', isBusy || change.expiresAt === null ? busy : decided)
    const details = { file, configuration: digestOf(after), ...others, difference: recordedDifference(difference) }
    await recordAuditEntry(tx, { act: 'settings.changed', connection, by, details, now: sync.now() })
  })
  try {
    await writeConfig(file, after, { replaces: change.before })
  } catch (error) {
    await recordFailed({ config, sync }, change)
    throw error
  }
  try {
    await sync.store.db.transaction().execute(async (tx) => await endWriting(tx, { id: change.id, file }))
  } finally {
    // The file is the new one, whatever the database answers: `endInterrupted` ends the change then.
    takeUp?.()
  }
  return { connection, file, waits: false, isTakenUp: takeUp !== null }
}

const busy = 'another change of the file is being saved right now: look at it again in a moment'

async function recordFailed({ config, sync }: Pick<Parts, 'config' | 'sync'>, change: SettingsChange): Promise<void> {
  const { connection, by, after } = change
  const details = { file: config.file, configuration: digestOf(after) }
  await sync.store.db.transaction().execute(async (tx) => {
    if (!(await takeBack(tx, change))) return
    await recordAuditEntry(tx, { act: 'settings.failed', connection, by, details, now: sync.now() })
  })
}

/**
 * Ends a change whose process ended while it replaced the file. It is recorded as failed if the file still has the text before, or another
 * one while the draft is still there: somebody may have edited the file since.
 */
export async function endInterrupted({ config, sync }: Pick<Parts, 'config' | 'sync'>): Promise<void> {
  const { file } = config
  const change = await beingWritten(sync.store.db, file)
  if (change === null || sync.now().getTime() - change.since.getTime() < maxWriteMs) return
  const text = await readFile(file, 'utf8').catch(() => null)
  if (text === null) return
  const [path, now] = [await realpath(file), sync.now()]
  const wasLeft = (await findDrafts(path, now)).length > 0
  const isMade = change.after === text || (change.before !== text && !wasLeft)
  if (!isMade) await recordFailed({ config, sync }, change)
  else await sync.store.db.transaction().execute(async (tx) => await endWriting(tx, change))
  // Not before: if nothing could be recorded, the draft still says next time that the change was not made.
  await removeDrafts(path, new Date(now.getTime() - maxWriteMs))
}
