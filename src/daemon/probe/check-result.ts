import { databaseFailure } from '../../database/failures.ts'
import { Failure, type FailureCode } from '../../errors.ts'
import type { Stop } from '../../sync/rate-limit/classify-answers.ts'

/** The result of one test. `code`: the failure that a run would report; null if the test passed. */
export type CheckResult = {
  readonly name: string
  readonly message: string
  readonly code: FailureCode | null
  /** `warning` asks an operator to look; `rejected` means that rows are not used. Neither makes the check fail. */
  readonly level: 'ok' | 'warning' | 'rejected' | 'failed'
}

/** Runs a test that returns a description of what it found. A thrown failure becomes a failed result. */
export async function runTest(name: string, test: () => Promise<string>): Promise<CheckResult> {
  try {
    return passedResult(name, await test())
  } catch (error) {
    const failure = error instanceof Failure ? error : databaseFailure(error)
    if (failure !== null) return failedResult(name, failure)
    throw error
  }
}

/** A result that passed. */
export function passedResult(name: string, message: string, level: CheckResult['level'] = 'ok'): CheckResult {
  return { name, message, code: null, level }
}

/** A result that asks an operator to look. */
export function warningResult(name: string, text: string): CheckResult {
  return { name, message: `warning: ${text}`, code: null, level: 'warning' }
}

/** A result that failed. */
export function failedResult(name: string, { message, code }: Failure): CheckResult {
  return { name, message, code, level: 'failed' }
}

/** Why the platform cannot be asked further. */
export function failureOfStop({ baseUrl }: { readonly baseUrl: string }, { kind, message }: Stop): Failure {
  return new Failure(kind === 'blocked' ? 'blocked' : 'platform_unreachable', `${baseUrl}: ${message}`)
}
