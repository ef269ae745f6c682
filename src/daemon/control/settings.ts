import type { CheckView, Setting, settingsOperations } from '../../contract/control/settings.ts'
import { Failure } from '../../errors.ts'
import type { Handlers } from '../../http/server/mount.ts'

/** What a daemon reports about its configuration. */
export type ConfigurationReport = {
  readonly file: string
  /** The change time (ctime) of the file when it was read. */
  readonly changedMs: number
  readonly settings: readonly Setting[]
  /** Tests everything that a run needs, with the store that is open. */
  check(signal: AbortSignal): AsyncIterable<CheckView>
}

/** What the handlers of settings use. */
export type SettingsContext = {
  /** Left out if no daemon runs. */
  readonly configured?: ConfigurationReport
  readonly signal: AbortSignal
  /** How long a check may take. */
  readonly checkWithinMs?: number
}

/** A person waits for the answer, and proxies seldom wait longer. */
const defaultWithinMs = 50_000

/** Handlers of the operations about the configuration. */
export const settingsHandlers: Handlers<typeof settingsOperations, SettingsContext> = {
  async getSettings(ctx) {
    const { file, changedMs, settings } = configuredIn(ctx)
    return { status: 200, body: { file, readAt: new Date(changedMs).toISOString(), data: [...settings] } }
  },

  async checkConfiguration(ctx) {
    const { signal, checkWithinMs = defaultWithinMs } = ctx
    const configured = configuredIn(ctx)
    const late = AbortSignal.timeout(checkWithinMs)
    const data: CheckView[] = []
    try {
      for await (const check of configured.check(AbortSignal.any([signal, late]))) data.push(check)
    } catch (error) {
      if (!late.aborted) throw error
    }
    if (late.aborted) {
      const message = `not everything could be tested within ${checkWithinMs / 1000} s: run "rollcall check", which has no time limit`
      data.push({ name: 'time', message, code: null, level: 'warning' })
    }
    return { status: 200, body: { ok: data.every(({ level }) => level !== 'failed'), data } }
  },
}

function configuredIn({ configured }: SettingsContext): ConfigurationReport {
  if (configured) return configured
  throw new Failure('not_found', 'no daemon runs: "rollcall check" tests the configuration')
}
