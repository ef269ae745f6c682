import type { Writable } from 'node:stream'
import { styleText } from 'node:util'
import { type Logger, pino } from 'pino'
import { escapeJson, escapeText } from '../text/escape.ts'
import { describeError } from './describe-error.ts'

const logLevels = ['error', 'warn', 'info', 'debug', 'silent'] as const
/** The levels of a log; `silent` logs nothing. */
export type LogLevel = (typeof logLevels)[number]

/** The methods of a logger that events use. */
export type Log = { readonly [L in Exclude<LogLevel, 'silent'>]: (fields: object, message: string) => void }

const colours = { error: 'red', warn: 'yellow', info: 'green', debug: 'gray' } as const

const secretNames = [
  ...['apiKey', 'authorization', 'bearer', 'password', 'secret', 'token', 'connectionString', 'url'],
  ...['accessToken', 'refreshToken', 'clientSecret', 'privateKey', 'assertion'],
]

type LoggerOptions = {
  readonly level: LogLevel
  /** Default: the standard error. */
  readonly destination?: Writable & { readonly isTTY?: boolean }
  /** Default: true for a terminal. */
  readonly pretty?: boolean
}

/**
 * A logger that writes a JSON document per line, or readable lines if `pretty`. Events hold no secrets; as a second barrier, the logger
 * blanks fields with names of secrets and keeps only the parts of errors that cannot quote data.
 */
export function createLogger(options: LoggerOptions): Log {
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
    { write: (line: string) => destination.write(pretty ? prettyLine(line) : escapeJson(line)) },
  )
}

/** A logger for a web framework: writes JSON lines to the standard error. */
export function createServerLogger(): Logger {
  return pino(
    { base: null, timestamp: pino.stdTimeFunctions.isoTime },
    { write: (line: string) => process.stderr.write(escapeJson(line)) },
  )
}

type Entry = { readonly level: string; readonly time: string; readonly msg: string; readonly [field: string]: unknown }

/** A logged JSON line for people to read: time, level, message, then the fields. */
function prettyLine(json: string): string {
  const { level, time, msg, event: _event, error, ...fields }: Entry = JSON.parse(json)
  const details = Object.entries(fields).map(
    ([name, value]) => styleText('dim', `${escapeText(name)}=`) + fieldText(value),
  )
  const head = [styleText('dim', time.slice(11, 19)), colourLevel(level), escapeText(msg), ...details].join(' ')
  if (error === undefined) return `${head}\n`
  return `${head}\n${escapeJson(JSON.stringify(error, undefined, 2)).replaceAll('\\n', '\n      ')}\n`
}

function colourLevel(level: string): string {
  const colour = Object.entries(colours).find(([name]) => name === level)?.[1] ?? 'white'
  return styleText(colour, level.padEnd(5))
}

function fieldText(value: unknown): string {
  return typeof value === 'string' && !/\s/.test(value) ? escapeText(value) : escapeJson(JSON.stringify(value))
}
