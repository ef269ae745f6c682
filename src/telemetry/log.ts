import type { Writable } from 'node:stream'
import { pino } from 'pino'
import { describeError } from './describe-error.ts'
import { prettyLine } from './pretty-line.ts'

export const logLevels = ['error', 'warn', 'info', 'debug', 'silent'] as const
export type LogLevel = (typeof logLevels)[number]

/** What events need of a logger. */
export type Log = { readonly [L in Exclude<LogLevel, 'silent'>]: (fields: object, message: string) => void }

const secretNames = ['apiKey', 'authorization', 'bearer', 'password', 'secret', 'token', 'connectionString', 'url']

/**
 * A logger that writes one JSON document a line, or, where `pretty`, one line for people to read. It is a net below the
 * events, which hold no secrets: fields named like one are blanked, and errors keep only what cannot quote data.
 */
export function createLogger(options: {
  readonly level: LogLevel
  readonly destination?: Writable & { readonly isTTY?: boolean }
  readonly pretty?: boolean
}): Log {
  const destination = options.destination ?? process.stderr
  const pretty = options.pretty ?? destination.isTTY === true
  return pino(
    {
      level: options.level,
      base: null,
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      serializers: { error: describeError },
      redact: { paths: secretNames.flatMap((name) => [name, `*.${name}`]), censor: '[secret]' },
    },
    { write: (line: string) => destination.write(pretty ? prettyLine(line) : line) },
  )
}
