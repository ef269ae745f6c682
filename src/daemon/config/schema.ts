import { z } from 'zod'
import { Alerts } from './alert-settings.ts'
import { Connection, connectionName, connectionNameError } from './connection-settings.ts'
import { HandOverSettings } from './hand-over-settings.ts'
import { PlatformSettings } from './platform-settings.ts'
import { ApprovalSettings, AuditSettings, RetentionSettings } from './record-keeping-settings.ts'
import { ServerSettings } from './server-settings.ts'
import type { ReadSource } from './source-settings.ts'
import { TracesFile } from './trace-settings.ts'
import { WeeklySettings } from './weekly-settings.ts'

/** Options for a schema that is used once: compiling its check would take longer than the check. */
export const checkedOnce = { jitless: true } as const

/** The configuration as written: references resolved, presets not yet applied. */
export const ConfigFile = z.strictObject({
  platform: PlatformSettings,
  database: z
    .string()
    .refine((at) => at === '' || /^postgres(ql)?:\/\//.test(at), {
      error: 'expected an address that begins with postgres://, or nothing',
    })
    .default('')
    .describe(
      'Where the state is kept: postgres://…, or empty for the embedded database in dataDir. An address with a password is a secret.',
    ),
  queue: z
    .string()
    .refine((at) => at === '' || /^rediss?:\/\//.test(at), {
      error: 'expected an address that begins with redis://, or nothing',
    })
    .default('')
    .describe('Where the jobs wait: redis://…, or empty for the database. An address with a password is a secret.'),
  dataDir: z
    .string()
    .min(1)
    .default('./data')
    .describe('The folder of the embedded database and of generated secrets, relative to the folder of this file.'),
  server: ServerSettings.prefault({}).describe("The daemon's own address."),
  alerts: Alerts.prefault({}),
  handOver: HandOverSettings.optional(),
  weekly: WeeklySettings.optional(),
  audit: AuditSettings.prefault({}),
  retention: RetentionSettings.prefault({}),
  approvals: ApprovalSettings.prefault({}),
  traces: TracesFile.prefault({}),
  connections: z
    .record(z.string().regex(connectionName, { error: connectionNameError }), Connection)
    .superRefine((connections, context) => {
      const named = namedConnections(connections)
      for (const { path, name } of named) {
        if (named.find((other) => other.name === name)?.path === path) continue
        context.addIssue({ code: 'custom', path, message: `there is another connection "${name}"` })
      }
      for (const [path, twin] of doubleTargets(named)) {
        const message = `connection ${twin} has the same target: two sources would undo each other's work`
        context.addIssue({ code: 'custom', path: [...path, 'target'], message })
      }
    })
    .default({})
    .describe(
      'Each connection feeds one custom connection of the platform from one HR source. Without any, the daemon waits for the first one.',
    ),
})

export type ConfigFile = z.infer<typeof ConfigFile>
/** A connection as the file has it. */
export type ConnectionSettings = ConfigFile['connections'][string]
/** The settings of a source or of a webhook. */
export type FeedSettings = NonNullable<ConnectionSettings['source'] | ConnectionSettings['webhook']>
/** A linked connection as the file has it. */
export type AlsoSettings = ConnectionSettings['also'][string]
/** A source that is read, as the file has it. */
export type SourceSettings = ReadSource

/** The target of a connection that delivers. */
export type DeliveryTarget = Exclude<ConnectionSettings['target'], { readonly type: 'DIRECTORY' }>

/** Whether a connection lists accounts and delivers nothing. */
export function isDirectory(target: ConnectionSettings['target']): target is { readonly type: 'DIRECTORY' } {
  return 'type' in target && target.type === 'DIRECTORY'
}

type NamedConnection = { readonly name: string; readonly path: string[]; readonly target: ConnectionSettings['target'] }

/** Every connection, with the linked ones. */
function namedConnections(
  connections: Readonly<Record<string, Pick<ConnectionSettings, 'target' | 'also'>>>,
): NamedConnection[] {
  return Object.entries(connections).flatMap(([name, { target, also }]) => [
    { name, path: [name], target },
    ...Object.entries(also).map(([linked, settings]) => ({
      name: linked,
      path: [name, 'also', linked],
      target: settings.target,
    })),
  ])
}

function doubleTargets(connections: readonly NamedConnection[]): [string[], string][] {
  const firstNames = new Map<string, string>()
  return connections.flatMap(({ name, path, target }): [string[], string][] => {
    if (isDirectory(target)) return []
    const type = 'type' in target ? target.type : 'HRIS'
    const key = JSON.stringify(
      'id' in target && target.id !== undefined ? target.id : [type, 'name' in target && target.name],
    )
    const twin = firstNames.get(key)
    firstNames.set(key, name)
    return twin === undefined ? [] : [[path, twin]]
  })
}
