import type { FastifyInstance } from 'fastify'
import { errorCode } from '../../errors.ts'

/** The checks that must pass for the daemon to be ready, by name. */
export type Checks = Readonly<Record<string, () => Promise<void>>>

const checkMs = 5000
/** A probe needs no token, so what it costs is bounded. */
const keptMs = 1000

/** Serves the probes: whether the process is alive, and whether it can do its work. */
export function serveProbes(app: FastifyInstance, checks: Checks): void {
  const looks = Object.entries(checks).map(([name, check]) => [name, rememberResult(() => outcome(check))] as const)
  app.get('/healthz', { config: { anyHost: true } }, async () => ({ status: 'ok' }))
  app.get('/readyz', { config: { anyHost: true } }, async (_request, reply) => {
    const results = await Promise.all(looks.map(async ([name, look]) => [name, await look()] as const))
    const ready = results.every(([, state]) => state === 'ok')
    reply.code(ready ? 200 : 503)
    return { status: ready ? 'ready' : 'not ready', ...Object.fromEntries(results) }
  })
}

/** The result of a check, in a word. */
async function outcome(check: () => Promise<void>): Promise<string> {
  const patience = Promise.withResolvers<string>()
  const timer = setTimeout(() => patience.resolve('unreachable'), checkMs)
  const passed = check().then(() => 'ok', troubleOf)
  try {
    return await Promise.race([passed, patience.promise])
  } finally {
    clearTimeout(timer)
  }
}

/** Why a check has failed, by the error of the database or Redis. */
function troubleOf(error: unknown): string {
  const texts = textsOf(error)
  if (texts.some((text) => /^(?:OOM |MISCONF |53100$|ENOSPC$)/.test(text))) return 'full'
  if (texts.some((text) => /^(?:READONLY |NOREPLICAS |25006$)/.test(text))) return 'read-only'
  return 'unreachable'
}

function textsOf(error: unknown): string[] {
  return error instanceof Error ? [error.message, errorCode(error) ?? '', ...textsOf(error.cause)] : []
}

function rememberResult(look: () => Promise<string>): () => Promise<string> {
  let last: { readonly state: Promise<string>; readonly atMs: number } | null = null
  return () => {
    if (last === null || performance.now() - last.atMs > keptMs) last = { state: look(), atMs: performance.now() }
    return last.state
  }
}
