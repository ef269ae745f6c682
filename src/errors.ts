import { inspect } from 'node:util'

import { escapeText } from './text/escape.ts'

/**
 * Every failure an operator can meet: the exit code of the command that ends with it (design of the commands, sysexits
 * where one fits), and whether trying again without a change can help. What is thrown without a code is a bug.
 */
export const failures = {
  usage: { exit: 2, retry: false },
  run_held: { exit: 65, retry: false },
  source_unreadable: { exit: 66, retry: false },
  source_unreachable: { exit: 69, retry: true },
  platform_unreachable: { exit: 69, retry: true },
  finished_with_problems: { exit: 70, retry: false },
  run_failed: { exit: 70, retry: false },
  contract_differs: { exit: 70, retry: false },
  already_active: { exit: 75, retry: true },
  blocked: { exit: 77, retry: false },
  forbidden: { exit: 77, retry: false },
  config_invalid: { exit: 78, retry: false },
  database_unreachable: { exit: 69, retry: true },
  disk_full: { exit: 69, retry: true },
  store_lost: { exit: 74, retry: false },
  store_damaged: { exit: 74, retry: false },
  queue_unreachable: { exit: 69, retry: true },
  alert_unsent: { exit: 69, retry: true },
  not_found: { exit: 66, retry: false },
  conflict: { exit: 75, retry: false },
  audit_broken: { exit: 76, retry: false },
} as const

/** The code of a failure, which decides the exit code and whether a retry may help. */
export type FailureCode = keyof typeof failures

/**
 * A failure an operator can act on. The message names what happened, to what, and what helps; it holds no personal values and no secrets.
 * It is one line, whatever it quotes; several lines are given as a list.
 */
export class Failure extends Error {
  override readonly name = 'Failure'
  readonly code: FailureCode

  constructor(code: FailureCode, message: string | readonly string[], options?: ErrorOptions) {
    super([message].flat().map(escapeText).join('\n'), options)
    this.code = code
  }

  get exit(): number {
    return failures[this.code].exit
  }

  get retry(): boolean {
    return failures[this.code].retry
  }
}

/** All that is known of an error that is a bug. Lines of its message stand below the first, as those of the stack do. */
export function stackOf(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? error.message) : inspect(error)
  return text.replaceAll('\n', '\n  ')
}

/** The code that Node, a library or a database put on an error, such as ENOENT; undefined if it has none. */
export function errorCode(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined
  return typeof error.code === 'string' || typeof error.code === 'number' ? String(error.code) : undefined
}
