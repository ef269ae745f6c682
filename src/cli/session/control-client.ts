import { control, controlPrefix } from '../../contract/control/control.ts'
import { Failure, type FailureCode, failures } from '../../errors.ts'
import type { Calls } from '../../http/client/calls.ts'
import { type LazyAgent, lazyAgent } from '../../http/client/lazy-agent.ts'
import { remoteCalls, type Unsuccessful } from '../../http/client/remote-calls.ts'

// The plan of a large company takes a while to make, and is one long document.
const timeoutMs = 600_000
const maxResponseBytes = 512 * 1024 * 1024

/** The control API as the commands use it, the same for a daemon and for this process. */
export type Control = Calls<typeof control>

/** Calls the daemon that listens at this Unix socket. */
export function controlOverSocket({ socket }: { socket: string }): Control {
  const { dispatcher, origin } = socketEndpoint(socket)
  const options = { baseUrl: `${origin}${controlPrefix}`, dispatcher, timeoutMs, maxResponseBytes }
  return remoteCalls(control, options, (answer) => failureOf(answer, socket))
}

/** An HTTP client for a Unix socket. The host name has no meaning. */
export function socketEndpoint(socket: string): {
  readonly origin: string
  readonly dispatcher: LazyAgent['dispatcher']
} {
  return { origin: 'http://localhost', dispatcher: lazyAgent({ connect: { socketPath: socket } }).dispatcher }
}

function failureOf(answer: Unsuccessful, socket: string): Failure {
  switch (answer.status) {
    case 'unreachable':
      return new Failure('already_active', `the daemon at ${socket} does not answer (${answer.reason})`)
    case 'unreadable':
      return new Failure('already_active', `what listens at ${socket} is no daemon of Rollcall (${answer.reason})`)
    case 'undeclared':
      return refusal(answer.error, answer.httpStatus)
    default:
      return refusal(answer.error, answer.status)
  }
}

function refusal({ message, name }: { message: string; name: string | null }, status: number): Failure {
  if (name !== null && Object.hasOwn(failures, name)) return new Failure(name as FailureCode, message)
  if (status === 400) return new Failure('usage', message)
  if (status === 403) return new Failure('forbidden', message)
  if (status === 404) return new Failure('not_found', message)
  return new Failure('conflict', `the daemon answered ${status}: ${message}`)
}
