/** What a server is for. */
export type Use = {
  /** Whether PostgreSQL waits for the disk. Without that it is faster, and what was committed is lost with the machine. */
  readonly durable: boolean
}

export const durable: Use = { durable: true }

const hasty = { fsync: 'off', synchronous_commit: 'off', full_page_writes: 'off' } as const

/** What a PostgreSQL for tests is told at its start. */
export function postgresSettings(use: Use): Readonly<Record<string, string>> {
  return { max_connections: '300', ...(!use.durable && hasty) }
}
