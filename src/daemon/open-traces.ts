import type { ProcessInfo } from '../store/schema/process-info.ts'
import type { Events } from '../telemetry/events.ts'
import type { Traces } from '../telemetry/traces.ts'
import { version } from '../version.ts'
import type { Config } from './config/config.ts'
import type { Secret } from './config/secret.ts'

type TraceContext = { readonly processInfo: ProcessInfo | undefined; readonly events: Events }

/** Starts to send traces to the configured collector, labelled with the roles of this process. */
export async function openTraces(
  { headers, ...settings }: NonNullable<Config['traces']>,
  { processInfo, events }: TraceContext,
): Promise<Traces & AsyncDisposable> {
  const { startTraces } = await import('../telemetry/otlp.ts')
  const process = { 'rollcall.roles': processInfo?.roles.join(',') ?? 'command' }
  return await startTraces({ ...settings, version, process, headers: () => readHeaders(headers) }, events)
}

/** Leaves out headers that cannot be read: the collector then reports what it misses. */
async function readHeaders(headers: ReadonlyMap<string, Secret>): Promise<Record<string, string>> {
  const read = await Promise.all(
    [...headers].map(async ([name, secret]) => [name, await secret.read().catch(() => '')] as const),
  )
  return Object.fromEntries(read.filter(([, value]) => value !== ''))
}
