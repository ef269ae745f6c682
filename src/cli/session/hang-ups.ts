import { closeSync, openSync } from 'node:fs'

/** Requests to read the configuration again, made by SIGHUP or within the process. */
export type HangUps = Disposable & {
  /** Resolves once a SIGHUP has asked for another look at the configuration, and at once until that look is taken. */
  requested(): Promise<void>
  /** Says that the look is taken now: what is asked for from here on is another one. */
  reset(): void
  /** Asks for that look from within the process. */
  request(): void
}

/**
 * Listens for SIGHUP. It comes for two reasons: somebody asks a daemon to read its configuration again, or the terminal is gone that the
 * process runs in. In the latter case `gone` is called.
 */
export function listenForHangUp(gone: () => void): HangUps {
  let pending = Promise.withResolvers<void>()
  const hasTerminal = process.stdin.isTTY === true

  function onHangUp(): void {
    if (hasTerminal && isTerminalGone()) gone()
    else pending.resolve()
  }

  process.on('SIGHUP', onHangUp)
  return {
    requested: () => pending.promise,
    reset: () => {
      pending = Promise.withResolvers<void>()
    },
    request: () => pending.resolve(),
    [Symbol.dispose]: () => process.off('SIGHUP', onHangUp),
  }
}

function isTerminalGone(): boolean {
  try {
    closeSync(openSync('/dev/tty', 'r'))
    return false
  } catch {
    return true
  }
}
