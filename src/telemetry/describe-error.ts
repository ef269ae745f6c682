import { errorCode } from '../errors.ts'

/** The parts of an error that are logged. */
type ErrorDescription = {
  readonly type: string
  readonly code?: string
  readonly message?: string
  readonly stack?: string
  readonly cause?: ErrorDescription
}

/** Chains of causes may be circular. */
const maxCauses = 5

/**
 * Describes an error without the data that caused it: databases and JSON.parse quote values in their messages, and database errors
 * carry rows and parameters as further properties.
 */
export function describeError(error: unknown, depth = 0): ErrorDescription {
  if (!(error instanceof Error)) return { type: typeof error }
  const code = errorCode(error)
  return {
    type: error.name,
    ...(code !== undefined && { code }),
    ...(!quotesData(error, code) && { message: error.message }),
    ...framesOf(error),
    ...(error.cause !== undefined && depth < maxCauses && { cause: describeError(error.cause, depth + 1) }),
  }
}

function quotesData(error: Error, code: string | undefined): boolean {
  const isSqlState = code !== undefined && /^[0-9A-Z]{5}$/.test(code) && /\d/.test(code)
  return isSqlState || error instanceof SyntaxError
}

// The head of a stack repeats the message, so only the frames below it are kept.
function framesOf(error: Error): { readonly stack?: string } {
  const frames = error.stack?.split('\n').filter((line) => /^\s+at /.test(line))
  return frames === undefined || frames.length === 0 ? {} : { stack: frames.map((line) => line.trim()).join('\n') }
}
