import type { settingsChangeOperations } from '../../contract/control/settings-changes.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'
import type { ConnectionSettings } from '../settings/connection-settings.ts'
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

  async getConnectionColumns(ctx, { params: { connection } }) {
    return { status: 200, body: await settingsIn(ctx).columns(connection, signalOf(ctx)) }
  },

  async chooseConnectionColumns(ctx, { params: { connection }, body: { digest, ...choices } }) {
    return { status: 200, body: await settingsIn(ctx).choose(connection, digest, choices) }
  },

  async previewConnectionSettings(ctx, { params: { connection }, body: { effect, ...typed } }) {
    return { status: 200, body: await settingsIn(ctx).preview(connection, typed, { effect, signal: signalOf(ctx) }) }
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

function signalOf({ requestSignal }: SettingsChangeContext): AbortSignal {
  return requestSignal?.() ?? new AbortController().signal
}

function settingsIn({ connectionSettings }: SettingsChangeContext): ConnectionSettings {
  if (connectionSettings) return connectionSettings
  throw new Failure('not_found', 'no daemon runs: change the configuration file itself')
}
