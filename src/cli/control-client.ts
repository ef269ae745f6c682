import { control, controlPrefix } from '../contract/control/control.ts'
import { Failure, type FailureCode, failures } from '../errors.ts'
import { type Calls, remoteCalls, type Unsuccessful } from '../http/client/calls.ts'

// The plan of a large company takes a while to make, and is one long document.
const timeoutMs = 600_000
const maxResponseBytes = 512 * 1024 * 1024

/** The control API as the commands use it. It is the same whether a daemon answers or this process does the work. */
export type Control = Calls<typeof control>

/** Asks the daemon that listens at this address. */
export function controlOverHttp({ baseUrl, token }: { baseUrl: string; token: string }): Control {
  const options = { baseUrl: `${baseUrl}${controlPrefix}`, bearer: token, timeoutMs, maxResponseBytes }
  return remoteCalls(control, options, (answer) => failureOf(answer, baseUrl))
}

function failureOf(answer: Unsuccessful, baseUrl: string): Failure {
  switch (answer.status) {
    case 'unreachable':
      return new Failure('already_active', `the daemon at ${baseUrl} does not answer (${answer.reason})`)
    case 'unreadable':
      return new Failure('already_active', `what listens at ${baseUrl} is no daemon of Rollcall (${answer.reason})`)
    case 'undeclared':
      return refusal(answer.error, answer.httpStatus)
    default:
      return refusal(answer.error, answer.status)
  }
}

function refusal({ message, name }: { message: string; name: string | null }, status: number): Failure {
  if (name !== null && Object.hasOwn(failures, name)) return new Failure(name as FailureCode, message)
  if (status === 400) return new Failure('usage', message)
  if (status === 404) return new Failure('not_found', message)
  if (status === 401) return new Failure('blocked', `the daemon does not accept the control token: ${message}`)
  return new Failure('conflict', `the daemon answered ${status}: ${message}`)
}
