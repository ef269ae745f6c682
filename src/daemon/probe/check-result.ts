import { databaseFailure } from '../../database/failures.ts'
import { Failure, type FailureCode } from '../../errors.ts'
import type { Stop } from '../../sync/rate-limit/classify-answers.ts'

/** One thing that was tested. `code` says which failure it would be. */
export type CheckResult = {
  readonly name: string
  readonly message: string
  readonly code: FailureCode | null
  /** `warning` asks to look, and `rejected` says that rows do not count. Neither ends the check. */
  readonly level: 'ok' | 'warning' | 'rejected' | 'failed'
}

/** Runs a test, whose answer says what was found. A failure is a result like any other. */
export async function tested(name: string, test: () => Promise<string>): Promise<CheckResult> {
  try {
    return passed(name, await test())
  } catch (error) {
    const failure = error instanceof Failure ? error : databaseFailure(error)
    if (failure !== null) return failed(name, failure)
    throw error
  }
}

export function passed(name: string, message: string, level: CheckResult['level'] = 'ok'): CheckResult {
  return { name, message, code: null, level }
}

export function warned(name: string, text: string): CheckResult {
  return { name, message: `warning: ${text}`, code: null, level: 'warning' }
}

export function failed(name: string, { message, code }: Failure): CheckResult {
  return { name, message, code, level: 'failed' }
}

/** Why the platform cannot be asked further. */
export function failureOfStop({ baseUrl }: { readonly baseUrl: string }, { kind, message }: Stop): Failure {
  return new Failure(kind === 'blocked' ? 'blocked' : 'platform_unreachable', `${baseUrl}: ${message}`)
}
