import { hostname } from 'node:os'
import { processRoles } from '../contract/control/process-roles.ts'
import type { ProcessRole } from '../contract/control/processes.ts'
import { Failure } from '../errors.ts'
import type { ProcessInfo } from '../store/schema/process-info.ts'
import { differences, processes } from '../store/workers/processes.ts'
import type { SyncContext } from '../sync/sync.ts'
import { repeat } from '../system/repeat.ts'
import { version } from '../version.ts'
import type { Config } from './config/config.ts'
import { settingsDigests } from './config/settings-digests.ts'

type ProcessStart = { readonly roles: readonly ProcessRole[]; readonly since: Date }

/** How this process describes itself to the other processes of its store. */
export function buildProcessInfo(config: Config, { roles, since }: ProcessStart): ProcessInfo {
  const settings = settingsDigests(config)
  return { roles, host: hostname(), pid: process.pid, version, since: since.toISOString(), settings }
}

/** The roles named in a text such as `scheduler,worker`, in the order of `processRoles`. Throws `usage` for an unknown one. */
export function parseRoles(text: string): ProcessRole[] {
  const named = text.split(',').map((name) => name.trim())
  const unknown = named.filter((name) => !processRoles.some((role) => role === name))
  if (unknown.length > 0)
    throw new Failure(
      'usage',
      `there is no role "${unknown[0]}" for --roles: name one or more of ${processRoles.join(', ')}`,
    )
  return processRoles.filter((role) => named.includes(role))
}

/** Throws `config_invalid` if a process of an embedded database lacks a role: no second process can open that database. */
export function requireAllRoles({ database }: Pick<Config, 'database'>, roles: readonly ProcessRole[]): void {
  if (database !== null || roles.length === processRoles.length) return
  const missing = processRoles.filter((role) => !roles.includes(role)).join(', ')
  const help = 'leave out --roles, or name a PostgreSQL database in the configuration'
  throw new Failure(
    'config_invalid',
    `the embedded database allows one process, which needs all roles; ${missing} would be missing: ${help}`,
  )
}

/** Emits an event when the settings of other processes begin or cease to differ from those of this one. */
export function watchSettings(
  sync: SyncContext,
  processInfo: ProcessInfo,
  { pauseMs }: { pauseMs: number },
): AsyncDisposable {
  let reported = ''
  const compare = async (): Promise<void> => {
    const others = (await processes(sync.store.db)).filter(({ lease }) => lease !== sync.lease.id)
    const differing = [...new Set(others.flatMap((other) => differences(processInfo.settings, other.settings)))].sort()
    const text = differing.join(', ')
    if (text === reported) return
    reported = text
    const hosts = others.flatMap((other) =>
      differences(processInfo.settings, other.settings).length > 0 ? [`${other.host} ${other.pid}`] : [],
    )
    if (differing.length > 0) sync.events.settingsDiffer({ settings: differing, processes: hosts })
    else sync.events.settingsAgree({ processes: others.length })
  }
  return repeat(compare, { pauseMs, onError: (error) => sync.events.unexpected({ during: 'processes', error }) })
}
