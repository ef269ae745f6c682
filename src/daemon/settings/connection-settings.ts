import type {
  ConnectionColumns,
  SettingsDifference,
  ConnectionSettings as SettingsView,
} from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import { withClassified } from '../../identity/mapping/classified.ts'
import { listClassifiedValues } from '../../store/classified-values.ts'
import { acceptedSource } from '../../store/connections/sources.ts'
import { type SettingsChange, savedChange, waitingChange } from '../../store/settings-changes.ts'
import { isSamePerson } from '../../sync/requests/two-people.ts'
import { repeat } from '../../system/repeat.ts'
import type { InTurn } from '../../system/turns.ts'
import type { Config } from '../config/config.ts'
import type { Reloads } from '../config/reload.ts'
import { isTrial, type VisitParts } from '../proposal/first-parts.ts'
import { inTime } from '../proposal/plan-list.ts'
import { forbiddenChanges } from './allowed-changes.ts'
import { type ColumnChoices, chosenSections, sampleColumns } from './columns.ts'
import { settingsDifference } from './difference.ts'
import { mistakesIn, type OpenedFile, openFile } from './opened-file.ts'
import { type Previewed, previewOf } from './previews.ts'
import {
  type Actor,
  approveChange,
  decided,
  endInterrupted,
  type Outcome,
  proposeChange,
  rejectChange,
  saveChange,
} from './saved-changes.ts'
import { type SectionName, type SectionProblem, withSections } from './sections.ts'

/** What the settings of connections are changed with. */
type SettingsParts = Pick<VisitParts, 'config' | 'env' | 'sync' | 'toSync' | 'takeUp' | 'signal' | 'inTurn'> & {
  readonly reloads?: Pick<Reloads, 'last'>
}

/** The parts that a person typed, and the digest of the file that the person saw. */
type Typed = {
  readonly digest: string
  readonly sections: Readonly<Partial<Record<SectionName, string>>>
}

type ChosenColumns = { readonly digest: string; readonly sections: Typed['sections'] }

/** Lets admins change the settings of a connection in the file of the configuration. */
export type ConnectionSettings = AsyncDisposable & {
  read(connection: string, actor: Actor): Promise<SettingsView>
  /** Reads the beginning of the newest export. Throws `conflict` if its columns cannot be chosen here. */
  columns(
    connection: string,
    options: { readonly wordsOf?: string | undefined; readonly signal: AbortSignal },
  ): Promise<ConnectionColumns>
  /** The parts of the connection with the chosen columns. Throws `conflict` if the file has changed since. */
  choose(connection: string, digest: string, choices: ColumnChoices): Promise<ChosenColumns>
  /** `signal`: aborted when the caller has left. `effect`: whether the newest export is read. */
  preview(
    connection: string,
    typed: Typed,
    options: { readonly effect: boolean; readonly signal: AbortSignal },
  ): Promise<Previewed>
  /** What the change that waits, or undoing the last one, does. Throws `conflict` if there is none. */
  previewStored(connection: string, change: 'waiting' | 'previous', signal: AbortSignal): Promise<Previewed>
  /** Throws `conflict` if the file has changed since, or cannot be written, and `config_invalid` for settings that are refused. */
  save(connection: string, typed: Typed, actor: Actor): Promise<Outcome>
  undo(connection: string, digest: string, actor: Actor): Promise<Outcome>
  approve(connection: string, id: string, actor: Actor): Promise<Outcome>
  reject(connection: string, id: string, actor: Actor): Promise<Outcome>
}

/** Changes that a process began and did not end are looked for this often. */
const recoveryMs = 30_000

/** Opens the settings of connections for changes. Changes of this process do not interleave. */
export function openConnectionSettings(parts: SettingsParts): ConnectionSettings {
  const { config, sync } = parts
  const open = (connection: string) => openFile({ ...parts, connection })
  const inTurn: InTurn = (work) =>
    parts.inTurn(async () => {
      await endInterrupted(parts)
      return await work()
    })
  const recovery = repeat(() => inTurn(async () => {}), {
    pauseMs: recoveryMs,
    onError: (error) => sync.events.unexpected({ during: 'settings', error }),
  })
  return {
    async read(connection, actor) {
      return await settingsView(parts, { connection, actor, opened: await open(connection) })
    },
    async columns(connection, options) {
      return await columnsOf(parts, { connection, opened: await open(connection), ...options })
    },
    async choose(connection, digest, choices) {
      const opened = await open(connection)
      if (digest !== opened.digest) throw new Failure('conflict', changedFileText(config))
      const { mapping } = requireColumns(parts, connection, opened)
      const sections = opened.sections.map(({ name, text }) => ({ section: name, text }))
      const classified = await listClassifiedValues(sync.store.db, connection)
      return { digest, sections: chosenSections({ sections, mapping, classified }, choices) }
    },
    async preview(connection, typed, { effect, signal }) {
      const opened = await open(connection)
      const judged = await judge(parts, { connection, opened, typed })
      const twoPeople = hasTwoPeople(config, opened)
      return await previewOf(parts, { connection, opened, twoPeople, ...judged, effect, signal })
    },
    async previewStored(connection, which, signal) {
      const opened = await open(connection)
      const text =
        which === 'waiting'
          ? (await requireWaiting(connection, opened)).after
          : (await requirePrevious(connection, opened)).before
      const checked = await mistakesIn(text, { ...parts, connection })
      const judged = 'problems' in checked ? { ...checked, next: null } : { problems: [], ...checked }
      const twoPeople = hasTwoPeople(config, opened)
      return await previewOf(parts, { connection, opened, twoPeople, ...judged, text, effect: true, signal })
    },
    async save(connection, typed, actor) {
      return await inTurn(async () => {
        const opened = await open(connection)
        refuseUnsavable(config, opened, typed.digest)
        const { problems, text } = await judge(parts, { connection, opened, typed })
        if (text === null || problems.length > 0) throw refusalOf(problems)
        return await change(parts, { connection, opened, after: text, actor })
      })
    },
    async undo(connection, digest, actor) {
      return await inTurn(async () => {
        const opened = await open(connection)
        refuseUnsavable(config, opened, digest)
        const previous = await requirePrevious(connection, opened)
        const checked = await mistakesIn(previous.before, { ...parts, connection })
        if ('problems' in checked) throw refusalOf(checked.problems)
        return await change(parts, { connection, opened, after: previous.before, actor, isUndo: true })
      })
    },
    async approve(connection, id, actor) {
      return await inTurn(async () => {
        const opened = await open(connection)
        const waiting = await requireWaiting(connection, opened, id)
        if (isSamePerson(waiting, actor))
          throw new Failure(
            'conflict',
            `${waiting.by} proposed this change: "approvals.twoPeople" requires another person to approve it`,
          )
        refuseUnsavable(config, opened, opened.digest)
        const checked = await mistakesIn(waiting.after, { ...parts, connection })
        if ('problems' in checked) throw refusalOf(checked.problems)
        const difference = differenceOf({ connection, opened, after: waiting.after })
        return await approveChange(parts, { waiting, difference, actor })
      })
    },
    async reject(connection, id, actor) {
      return await inTurn(async () => rejectChange(parts, await findWaiting(connection, id), actor))
    },
    [Symbol.asyncDispose]: () => recovery[Symbol.asyncDispose](),
  }

  /** The change that waits; with `id`, only if it is this one. */
  async function findWaiting(connection: string, id?: string): Promise<SettingsChange> {
    const waiting = await waitingChange(sync.store.db, { connection, now: sync.now() })
    if (waiting && (id === undefined || waiting.id === id)) return waiting
    throw new Failure('conflict', decided)
  }

  async function requireWaiting(connection: string, opened: OpenedFile, id?: string): Promise<SettingsChange> {
    const waiting = await findWaiting(connection, id)
    if (waiting.before === opened.text) return waiting
    throw new Failure('conflict', `${config.file} has changed since this was proposed: propose it again`)
  }

  async function requirePrevious(connection: string, opened: OpenedFile): Promise<SettingsChange> {
    const previous = await undoable(parts, opened, connection)
    if (previous !== null) return previous
    throw new Failure('conflict', 'there is no earlier version of these settings to restore')
  }
}

type Judged = {
  readonly problems: readonly SectionProblem[]
  /** The text of the file with the change; null if it cannot be made. */
  readonly text: string | null
  readonly next: Config | null
}

type ToJudge = { readonly connection: string; readonly opened: OpenedFile; readonly typed: Typed }

/** The file with what was typed, and everything that is wrong with it. */
async function judge(parts: SettingsParts, { connection, opened, typed }: ToJudge): Promise<Judged> {
  const { config } = parts
  const { text: before, current, hidden, sections } = opened
  if (current === null || sections.length === 0) return { problems: [], text: null, next: null }
  const shown = Object.entries(typed.sections).filter(([name]) => !hidden.has(name as SectionName))
  const edited = withSections(before, connection, Object.fromEntries(shown))
  if ('problems' in edited) return { problems: edited.problems, text: null, next: null }
  // Before references are resolved: what they stand for could show in a message.
  const forbidden = forbiddenChanges({
    ...{ before, after: edited.text, connection },
    ...{ file: config.file, isTrial: isTrial(config) },
  })
  if (forbidden.length > 0) return { problems: forbidden, text: null, next: null }
  const checked = await mistakesIn(edited.text, { ...parts, connection })
  if ('problems' in checked) return { problems: checked.problems, text: null, next: null }
  return { problems: [], text: edited.text, next: checked.next }
}

type ToChange = {
  readonly connection: string
  readonly opened: OpenedFile
  readonly after: string
  readonly actor: Actor
  readonly isUndo?: boolean
}

async function change(parts: SettingsParts, { opened, ...toChange }: ToChange): Promise<Outcome> {
  const { connection, after, actor, isUndo = false } = toChange
  if (after === opened.text) throw new Failure('usage', 'nothing has changed: there is nothing to save')
  const difference = differenceOf({ connection, opened, after })
  const made = { connection, before: opened.text, after, difference, isUndo, actor }
  if (!hasTwoPeople(parts.config, opened)) return await saveChange(parts, made)
  const { approvals } = opened.current ?? parts.config
  return await proposeChange(parts, made, approvals.expireHours)
}

/** The rule holds if the daemon knows it, or if the file has it by now. */
function hasTwoPeople({ approvals }: Config, { current }: OpenedFile): boolean {
  return approvals.twoPeople || current?.approvals.twoPeople === true
}

function changedFileText({ file }: Config): string {
  return `${file} has changed since you opened this page: compare with the file as it is now, and save again`
}

function refuseUnsavable(config: Config, { digest, trouble }: OpenedFile, seen: string): void {
  if (digest !== seen) throw new Failure('conflict', changedFileText(config))
  if (trouble !== null) throw new Failure('conflict', `nothing can be saved: ${trouble}`)
}

function refusalOf(problems: readonly SectionProblem[]): Failure {
  return new Failure(
    'config_invalid',
    problems.map(({ message }) => message),
  )
}

type Changed = { readonly connection: string; readonly opened: OpenedFile; readonly after: string }

function differenceOf({ connection, opened, after }: Changed): SettingsDifference {
  return settingsDifference({ before: opened.text, after, connection, hidden: opened.hidden })
}

async function undoable(
  { config, sync }: SettingsParts,
  { text }: OpenedFile,
  connection: string,
): Promise<SettingsChange | null> {
  const saved = await savedChange(sync.store.db, { file: config.file, after: text })
  return saved?.connection === connection ? saved : null
}

type ToShow = { readonly connection: string; readonly opened: OpenedFile; readonly actor: Actor }

async function settingsView(parts: SettingsParts, { connection, opened, actor }: ToShow): Promise<SettingsView> {
  const { config, sync, reloads } = parts
  const { digest, trouble, sections, hidden } = opened
  const previous = await undoable(parts, opened, connection)
  const waiting = await waitingChange(sync.store.db, { connection, now: sync.now() })
  return {
    ...{ connection, file: config.file, digest, trouble, twoPeople: hasTwoPeople(config, opened) },
    refusedReload: reloads?.last?.refused ?? null,
    hidden: [...hidden],
    sections: sections.map(({ name, text }) => ({ section: name, text })),
    previous: previous && {
      by: previous.by,
      at: previous.at.toISOString(),
      difference: differenceOf({ connection, opened, after: previous.before }),
    },
    waiting: waiting && {
      ...{ id: waiting.id, by: waiting.by, at: waiting.at.toISOString() },
      expiresAt: (waiting.expiresAt ?? waiting.at).toISOString(),
      isOwn: isSamePerson(waiting, actor),
      difference: settingsDifference({ before: waiting.before, after: waiting.after, connection, hidden }),
    },
  }
}

/** The source of a connection whose columns a person can choose. */
function requireColumns(
  { toSync }: SettingsParts,
  connection: string,
  { current, hidden, trouble, sections }: OpenedFile,
) {
  const one = current?.connections.get(connection)
  if (!current || !one) throw new Failure('conflict', trouble ?? `the file has no connection ${connection}`)
  const source = one.records ? undefined : toSync(current, one).feeds.source
  if (source === undefined) throw new Failure('conflict', 'this connection reads no export of people')
  if (hidden.has('mapping') || hidden.has('leaving'))
    throw new Failure('conflict', 'a secret may stand beside the columns: change them in the file itself')
  if (!sections.some(({ name }) => name === 'mapping'))
    throw new Failure(
      'conflict',
      trouble ?? 'the settings of the source do not stand in lines of their own: change them in the file itself',
    )
  return source
}

type ToSample = {
  readonly connection: string
  readonly opened: OpenedFile
  readonly wordsOf?: string | undefined
  readonly signal: AbortSignal
}

async function columnsOf(
  parts: SettingsParts,
  { connection, opened, wordsOf, signal }: ToSample,
): Promise<ConnectionColumns> {
  const { mapping, connector } = requireColumns(parts, connection, opened)
  const { db } = parts.sync.store
  const { fields: formerFields } = await acceptedSource(db, connection)
  const classified = withClassified(mapping, await listClassifiedValues(db, connection))
  const sampled = { mapping: classified, wordsOf, formerFields }
  const read = async (either: AbortSignal) => {
    const findDecided = async () => new Set<string>()
    const reading = await connector.open({ now: parts.sync.now, signal: either, findDecided, isNewest: true })
    try {
      return await sampleColumns(reading, { ...sampled, signal: either })
    } finally {
      await reading.close?.()
    }
  }
  const sample = await inTime(AbortSignal.any([signal, parts.signal]), read, 'change the columns in YAML')
  return { ...{ connection, file: parts.config.file, digest: opened.digest }, ...sample }
}
