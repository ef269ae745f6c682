import { type Command, InvalidArgumentError, Option } from 'commander'
import type { z } from 'zod'
import { Failure } from '../../../errors.ts'
import { describeIssues } from '../../../http/issues.ts'
import { escapeText } from '../../../text/escape.ts'
import { printJson, standardOutput } from '../../../text/print.ts'
import type { Operator } from '../operator.ts'

/** The options of a command that works on a database. */
export type DatabaseOptions = { readonly json?: boolean; readonly database: string }
/** The options of a command that works on a database or through a running platform. */
export type PlatformOptions = DatabaseOptions & { readonly url?: string }

const defaultFolder = './data/platform'

/** Adds `--database` and `--json` to a command. */
export function withDatabaseOption(command: Command): Command {
  return command
    .addOption(
      new Option('--database <place>', 'postgres://… or a folder')
        .env('PLATFORM_DATABASE_URL')
        .argParser((location: string) => location || defaultFolder)
        .default(defaultFolder),
    )
    .option('--json', 'print one JSON document on stdout and nothing else there')
}

/** Adds the same and `--url`, for a command that also works through a running platform. */
export function withPlatformOptions(command: Command): Command {
  return withDatabaseOption(command).option(
    '--url <address>',
    'a running platform, such as http://127.0.0.1:4010/operator/v1',
  )
}

/** Runs `work` on the platform of the options and prints the result. */
export async function runOnPlatform<T>(
  options: PlatformOptions,
  work: (operator: Operator) => Promise<T>,
  render: (result: T) => string,
): Promise<void> {
  printResult(options, await withPlatform(options, work), render)
}

/** Runs `work` on the platform of the options. */
export async function withPlatform<T>(
  { database, url }: PlatformOptions,
  work: (operator: Operator) => Promise<T>,
): Promise<T> {
  const { openOperator } = await import('../access.ts')
  await using access = await openOperator({ database, url, token: process.env.PLATFORM_OPERATOR_TOKEN || undefined })
  return await work(access.operator)
}

/** Parses options by a schema; fails with `usage` and a message in one line. */
export function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  throw new Failure('usage', describeIssues(parsed.error))
}

/** Rows with tabs between the cells; control characters in a cell are escaped. */
export function table(rows: readonly (readonly (string | number)[])[]): string {
  return rows.map((cells) => cells.map((cell) => escapeText(String(cell))).join('\t')).join('\n')
}

/** Prints the result on stdout: as JSON with `--json`, else as rendered text. */
export function printResult<T>({ json }: { json?: boolean }, result: T, render: (result: T) => string): void {
  if (json) printJson(result)
  else standardOutput.print(`${render(result)}\n`)
}

/** A commander parser that collects base addresses, without trailing slashes. */
export function baseAddresses(text: string, before: readonly string[] = []): string[] {
  const url = URL.parse(text)
  const isPlain = url && !url.username && !url.password && !url.search && !url.hash
  if (!isPlain || !/^https?:$/.test(url.protocol))
    throw new InvalidArgumentError('It must be an address such as https://api.example.com/public/v2.')
  return [...before, url.href.replace(/\/+$/, '')]
}

/** A commander parser for a whole number of at most nine digits. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}
