import type { FastifyInstance } from 'fastify'
import { createApp } from '../../http/server/app.ts'
import { guardHosts, type HostRules } from '../../http/server/hosts.ts'
import { type Checks, serveProbes } from './probes.ts'
import { listen, type Server } from './server.ts'

type ProbeServerOptions = {
  readonly host: string
  readonly port: number
  /** The names under which it is reached. */
  readonly hosts: HostRules
  readonly checks: Checks
  /** Adds what every process serves. */
  readonly alsoServe?: (app: FastifyInstance) => Promise<void>
}

/** Serves the probes of a process without the role api. */
export async function startProbeServer({ checks, hosts, alsoServe, ...at }: ProbeServerOptions): Promise<Server> {
  const app = await createApp()
  guardHosts(app, hosts)
  serveProbes(app, checks)
  await alsoServe?.(app)
  return { url: await listen(app, at), [Symbol.asyncDispose]: () => app.close() }
}
