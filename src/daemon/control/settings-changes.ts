import type {
  SettingsComparison,
  SettingsPreview,
  settingsChangeOperations,
} from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { StagedChange } from '../../store/plans/plans.ts'
import type { ConnectionSettings } from '../settings/connection-settings.ts'
import type { Comparison } from '../settings/effects.ts'
import type { Previewed } from '../settings/previews.ts'
import { changeView, namingFields, shownPerson } from './views.ts'
import type { WithActor } from './with-permissions.ts'

/** What the handlers of changed settings use. */
export type SettingsChangeContext = {
  /** Left out if no daemon runs. */
  readonly connectionSettings?: ConnectionSettings
  /** Aborted when whoever sent the request has left. Left out within a command. */
  readonly requestSignal?: () => AbortSignal
}

/** Handlers of the operations by which an admin changes the settings of a connection. */
export const settingsChangeHandlers: Handlers<typeof settingsChangeOperations, SettingsChangeContext & WithActor> = {
  async getConnectionSettings(ctx, { params: { connection } }) {
    return { status: 200, body: await settingsIn(ctx).read(connection, ctx.actor) }
  },

  async getConnectionColumns(ctx, { params: { connection }, query: { values, wordsOf } }) {
    if (wordsOf !== undefined && !values)
      throw new Failure('usage', 'the words of another column may be personal values: ask for them with values=true')
    const columns = await settingsIn(ctx).columns(connection, { wordsOf, signal: signalOf(ctx) })
    return { status: 200, body: values ? columns : { ...columns, examples: columns.columns.map(() => []) } }
  },

  async chooseConnectionColumns(ctx, { params: { connection }, body: { digest, ...choices } }) {
    return { status: 200, body: await settingsIn(ctx).choose(connection, digest, choices) }
  },

  async previewConnectionSettings(ctx, { params: { connection }, query, body: { effect, ...typed } }) {
    const previewed = await settingsIn(ctx).preview(connection, typed, { effect, signal: signalOf(ctx) })
    return { status: 200, body: previewView(previewed, query) }
  },

  async previewStoredSettings(ctx, { params: { connection }, query, body: { change } }) {
    const previewed = await settingsIn(ctx).previewStored(connection, change, signalOf(ctx))
    return { status: 200, body: previewView(previewed, query) }
  },

  async changeConnectionSettings(ctx, { params: { connection }, body: { by: _, ...typed } }) {
    return { status: 200, body: await settingsIn(ctx).save(connection, typed, ctx.actor) }
  },

  async undoConnectionSettings(ctx, { params: { connection }, body: { digest } }) {
    return { status: 200, body: await settingsIn(ctx).undo(connection, digest, ctx.actor) }
  },

  async approveConnectionSettings(ctx, { params: { connection }, body: { id } }) {
    return { status: 200, body: await settingsIn(ctx).approve(connection, id, ctx.actor) }
  },

  async rejectConnectionSettings(ctx, { params: { connection }, body: { id } }) {
    return { status: 200, body: await settingsIn(ctx).reject(connection, id, ctx.actor) }
  },
}

type Showing = { readonly values: boolean }

function previewView(
  { effect, linked, moreLinked, removedLinked, ...previewed }: Previewed,
  showing: Showing,
): SettingsPreview {
  return {
    ...previewed,
    effect: effect && comparisonView(effect, showing),
    linked: linked.map((one) => ({ ...one, effect: one.effect && comparisonView(one.effect, showing) })),
    moreLinked: [...moreLinked],
    removedLinked: [...removedLinked],
  }
}

function comparisonView({ people, more, uncompared, ...effects }: Comparison, { values }: Showing): SettingsComparison {
  const change = (staged: StagedChange | null) => staged && changeView(staged.change, { values, origin: staged.origin })
  const person = (staged: StagedChange | null) =>
    values && staged && 'record' in staged.change
      ? { person: shownPerson(staged.change.record, namingFields(null)) }
      : null
  return {
    ...effects,
    people: people.map(({ identityId, before, after }) => ({
      identityId,
      ...(person(after) ?? person(before)),
      before: change(before),
      after: change(after),
    })),
    morePeople: more,
    uncompared: [...uncompared],
  }
}

function signalOf({ requestSignal }: SettingsChangeContext): AbortSignal {
  return requestSignal?.() ?? new AbortController().signal
}

function settingsIn({ connectionSettings }: SettingsChangeContext): ConnectionSettings {
  if (connectionSettings) return connectionSettings
  throw new Failure('not_found', 'no daemon runs: change the configuration file itself')
}
