import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Workplace } from './workplace.ts'

export type Connected = {
  readonly baseUrl: string
  /** What stands at `connections.NAME`, besides the target. */
  readonly connections: Readonly<Record<string, object>>
}

/** Writes a configuration with these connections in place of the workplace's own. JSON is YAML. */
export async function connect(work: Workplace, { baseUrl, connections }: Connected): Promise<void> {
  const targets = Object.entries(connections).map(([name, connection]) => [
    name,
    { target: { name: `HRIS ${name}` }, ...connection },
  ])
  const config = {
    platform: { baseUrl, apiKey: '${file:key}', requestsPerMinute: 100_000 },
    dataDir: './data',
    server: { host: '127.0.0.1', port: 0 },
    connections: Object.fromEntries(targets),
  }
  await writeFile(work.configFile, JSON.stringify(config, null, 2))
}

/** Writes a secret beside the configuration; answers how the configuration names it. */
export async function keepSecret(work: Workplace, name: string, secret: string): Promise<string> {
  await writeFile(join(work.folder, name), secret, { mode: 0o600 })
  return `\${file:${name}}`
}

/** The columns of the world's HR system. */
export const worldMapping = {
  fields: {
    identityId: 'Worker ID',
    email: { column: 'Email', onBlank: 'keep' },
    firstName: { column: 'First Name', onBlank: 'keep' },
    jobTitle: { column: 'Job Title', onBlank: 'keep' },
    startedAt: { column: 'Start Date', onBlank: 'keep' },
    separatedAt: 'Leaving Date',
  },
} as const
