import { closeSync, openSync } from 'node:fs'

/** Requests to read the configuration again, made by SIGHUP or within the process. */
export type HangUps = Disposable & {
  /** Resolves once SIGHUP requested another read of the configuration, and immediately until `reset` is called. */
  requested(): Promise<void>
  /** Marks the request as taken: later requests count as new ones. */
  reset(): void
  /** Requests another read from within the process. */
  request(): void
}

/**
 * Listens for SIGHUP, which has two reasons: somebody asks a daemon to read its configuration again, or the terminal of the process is
 * gone. In the latter case `gone` is called.
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
