/** What a process of the daemon says of itself beside its lease. */
export type ProcessInfo = {
  readonly roles: readonly ('api' | 'scheduler' | 'worker')[]
  readonly host: string
  readonly pid: number
  readonly version: string
  /** When it started, or took up its configuration. */
  readonly since: string
  readonly settings: SettingsDigests
}

/** Digests of the settings that all processes of a store have to agree about. */
export type SettingsDigests = {
  readonly connections: Readonly<Record<string, string>>
  /** Of what belongs to no connection. */
  readonly general: string
}
