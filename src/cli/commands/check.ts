import { checkAll } from '../../daemon/check.ts'
import type { CheckResult } from '../../daemon/probe/check-result.ts'
import { failures } from '../../errors.ts'
import { silentEvents } from '../../telemetry/events.ts'
import { escapeText, levelMark, type Paint } from '../render/text.ts'
import { daemonForCheck } from '../session/daemon-for-check.ts'
import { createOutput } from '../session/output.ts'
import { type CommonOptions, configOf, requireConnection } from '../session/session.ts'
import { listenForStop } from '../session/stop-signal.ts'
import { type ProbeOptions, refuseUnasked, runProbe } from './check-probe.ts'

/** The options of `rollcall check`. */
export type CheckOptions = CommonOptions & ProbeOptions

/** Tests everything that a run needs; the exit code is that of the first thing that failed. */
export async function check(options: CheckOptions): Promise<number> {
  if (options.probe) refuseUnasked(options)
  const output = createOutput(options)
  const config = await configOf(options, { secrets: 'when needed' })
  const connection = options.connection === undefined ? undefined : requireConnection(options, config)
  using stop = listenForStop()
  const checks: CheckResult[] = []
  const add = (result: CheckResult): void => {
    checks.push(result)
    if (!output.json) output.printResult(result, renderCheck)
  }
  const now = () => new Date()
  const events = silentEvents()
  const about = { connection, findDaemon: () => daemonForCheck(config), events, now, signal: stop.signal }
  for await (const result of checkAll(config, about)) {
    // A failure caused by a stop says nothing about the installation.
    stop.signal.throwIfAborted()
    add(result)
  }
  if (options.probe) {
    for await (const result of runProbe(config, checks, { options, output, signal: stop.signal })) add(result)
  }
  const firstFailed = checks.find(({ code }) => code !== null)
  if (output.json) output.printResult({ ok: firstFailed === undefined, checks }, () => '')
  return firstFailed?.code ? failures[firstFailed.code].exit : 0
}

/** One result of a check, as a line. */
export function renderCheck({ name, message, level }: CheckResult, paint: Paint): string {
  return `${levelMark(level, paint)} ${escapeText(name)}: ${escapeText(message)}`
}
