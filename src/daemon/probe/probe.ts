import { Failure } from '../../errors.ts'
import type { Platform } from '../../sync/context/context.ts'
import type { ProbeContext } from './asking.ts'
import { type Assumption, assumptions, Differs, type Probe } from './assumptions.ts'
import { type CheckResult, failedResult, passedResult, runTest, warningResult } from './check-result.ts'
import { testPermissions } from './key-permissions.ts'
import { createProbeConnection, findProbeConnections, removeProbeConnections } from './probe-connection.ts'

/** How a probe asks for consent and is stopped. */
export type ProbeOptions = {
  /** Called once before anything is changed; false ends the probe. `leftovers`: connections of earlier probes that will be removed. */
  readonly agrees: (leftovers: readonly number[]) => Promise<boolean>
  readonly signal: AbortSignal
}

const name = 'probe'
/** How long the removal may take, also after a stop. */
const removeWithinMs = 60_000

/**
 * Tests what Rollcall assumes of the platform, with one invented person on a connection of its own. The connection is always removed
 * before the last result. A stop is thrown after that.
 */
export async function* probePlatform(
  platform: Platform,
  { agrees, signal }: ProbeOptions,
): AsyncGenerator<CheckResult, void, undefined> {
  const asking = { platform, signal }
  const leftovers: number[] = []
  const prepared = await runTest(name, async () => {
    await requirePermissions(asking)
    leftovers.push(...(await findProbeConnections(asking)))
    return `${platform.baseUrl} allows what the probe needs`
  })
  yield prepared
  if (prepared.level === 'failed') return
  if (!(await agrees(leftovers))) {
    yield passedResult(name, 'nothing was tried, and nothing was changed')
    return
  }
  yield* onOwnConnection(asking, leftovers)
}

async function requirePermissions({ platform, signal }: ProbeContext): Promise<void> {
  const tried = await testPermissions(platform, signal, ['probe'])
  const lacking = tried.filter(({ isGranted }) => isGranted === false)
  if (lacking.length === 0) return
  const named = lacking.map(({ permissions, purpose }) => `${permissions.join(' or ')} (${purpose})`)
  throw new Failure('blocked', `the key lacks ${named.join('; ')}: the probe needs it, and has changed nothing`)
}

async function* onOwnConnection(
  asking: ProbeContext,
  leftovers: readonly number[],
): AsyncGenerator<CheckResult, void, undefined> {
  let removed: CheckResult | null = null
  let stop: unknown = null
  try {
    const isCleared = yield* removeLeftovers(asking, leftovers)
    if (isCleared) yield* tryAssumptions(asking)
  } catch (error) {
    stop = error
  } finally {
    // Also reached if the caller stops reading the results.
    removed = await runTest(name, () => removeAll(asking.platform))
  }
  yield removed
  if (stop !== null) throw stop
}

async function* removeLeftovers(
  asking: ProbeContext,
  leftovers: readonly number[],
): AsyncGenerator<CheckResult, boolean, undefined> {
  if (leftovers.length === 0) return true
  const result = await runTest(name, async () => {
    await removeProbeConnections(asking, leftovers)
    return `removed what an earlier probe left behind: connection ${leftovers.join(', ')}`
  })
  yield result
  return result.level !== 'failed'
}

/** Finds the connection by its name, since its ID is unknown if the response to its creation was lost. */
async function removeAll(platform: Platform): Promise<string> {
  const asking = { platform, signal: AbortSignal.timeout(removeWithinMs) }
  try {
    const ids = await findProbeConnections(asking)
    await removeProbeConnections(asking, ids)
    return ids.length === 0 ? 'nothing of it is left' : `connection ${ids.join(', ')} and its person are removed`
  } catch (error) {
    if (!(error instanceof Failure) && !asking.signal.aborted) throw error
    const reason = error instanceof Failure ? error.message : `${platform.baseUrl} has not answered in time`
    const code = error instanceof Failure ? error.code : 'platform_unreachable'
    throw new Failure(code, `the connection of the probe may still be there: ${reason}. The next probe removes it`)
  }
}

async function* tryAssumptions(asking: ProbeContext): AsyncGenerator<CheckResult, void, undefined> {
  let connectionId = 0
  const made = await runTest(name, async () => {
    connectionId = await createProbeConnection(asking)
    return `made connection ${connectionId}`
  })
  yield made
  if (made.level === 'failed') return
  for (const assumption of assumptions) {
    const result = await tryOne({ ...asking, connectionId }, assumption)
    yield result
    const isOver = result.code === 'blocked' || result.code === 'platform_unreachable'
    if (isOver || (assumption.isVital && result.level === 'failed')) return
  }
}

async function tryOne(probe: Probe, { name: assumed, otherwise, isOptional, look }: Assumption): Promise<CheckResult> {
  try {
    return passedResult(assumed, await look(probe))
  } catch (error) {
    if (error instanceof Failure) return failedResult(assumed, error)
    if (!(error instanceof Differs)) throw error
    if (isOptional) return warningResult(assumed, `no: ${error.message}. ${otherwise}`)
    return failedResult(assumed, new Failure('contract_differs', `no: ${error.message}. So ${otherwise}`))
  }
}
