import type { Config } from '../../daemon/config/config.ts'
import { openPlatform } from '../../daemon/platform.ts'
import type { CheckResult } from '../../daemon/probe/check-result.ts'
import { probePlatform } from '../../daemon/probe/probe.ts'
import { Failure } from '../../errors.ts'
import { ask, standardError } from '../../text/print.ts'
import type { Output } from '../session/output.ts'

/** The options of `rollcall check --probe`. */
export type ProbeOptions = {
  /** Whether the platform is probed at all. */
  readonly probe?: boolean
  /** Whether the platform may be changed without asking. */
  readonly yes?: boolean
}

type ProbeContext = { readonly options: ProbeOptions; readonly output: Output; readonly signal: AbortSignal }

/** If no person can be asked, the caller has to state that the platform may be changed. */
export function refuseUnasked({ yes, json }: ProbeOptions & { readonly json?: boolean }): void {
  const canAsk = process.stdin.isTTY && standardError.isTerminal && !json
  if (yes || canAsk) return
  const message =
    '--probe creates a connection with an invented person on the platform and removes both: add --yes to agree'
  throw new Failure('usage', message)
}

/** The results of a probe, unless earlier checks show that the platform cannot be asked. */
export async function* runProbe(
  config: Config,
  checks: readonly CheckResult[],
  { options, output, signal }: ProbeContext,
): AsyncGenerator<CheckResult> {
  if (checks.some(({ code }) => code === 'blocked' || code === 'platform_unreachable')) {
    output.printMessage('- no probe: the platform first has to answer and accept the key')
    return
  }
  const announceStop = (): void => output.printMessage('- stopping: first removing what the probe created')
  await using platform = openPlatform(config, null)
  try {
    yield* probePlatform(platform, {
      signal,
      async agrees(leftovers) {
        const isAgreed = options.yes === true || (await askAbout(platform, leftovers, signal))
        if (isAgreed) signal.addEventListener('abort', announceStop, { once: true })
        return isAgreed
      },
    })
  } finally {
    signal.removeEventListener('abort', announceStop)
  }
}

async function askAbout(
  { baseUrl }: { readonly baseUrl: string },
  leftovers: readonly number[],
  signal: AbortSignal,
): Promise<boolean> {
  const cleaning =
    leftovers.length === 0
      ? ''
      : ` It also removes connection ${leftovers.join(', ')}, which an earlier probe left behind.`
  const explanation = `The probe creates a connection with one invented person on ${baseUrl}, and removes both.${cleaning}`
  const answer = await ask(`\n${explanation}\nContinue? [y/N] `, signal)
  return /^y(es)?$/i.test(answer.trim())
}
