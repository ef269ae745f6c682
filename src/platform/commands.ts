import { type Command, InvalidArgumentError, Option } from 'commander'
import { pino } from 'pino'
import { z } from 'zod'
import { platformAreas, platformPrefix } from '../contract/platform.ts'
import { Failure } from '../errors.ts'
import { openapi } from '../http/openapi.ts'
import type { Operator } from './operator.ts'
import { openOperator } from './operator-access.ts'
import {
  AccountInput,
  KeyInput,
  type KeyListing,
  OperatorInput,
  type OperatorListing,
  OperatorPassword,
  type SyncResult,
} from './operator-contract.ts'
import { readPassword } from './read-password.ts'
import { readSeed } from './seed-file.ts'
import { startService, untilStopped } from './serve.ts'

type CommonOptions = { readonly json?: boolean; readonly database: string; readonly url?: string }
type ServeCommandOptions = {
  readonly json?: boolean
  readonly database: string
  readonly host: string
  readonly port: number
  readonly syncAt: string
  readonly timeZone: string
  readonly sync: boolean
  readonly seed?: string
  readonly keyFile?: string
  readonly behindHttps?: boolean
}
type KeyOptions = CommonOptions & {
  readonly account: string
  readonly name: string
  readonly permission?: string[]
  readonly allRead?: boolean
  readonly expires?: string
}
type PasswordOptions = CommonOptions & { readonly name: string; readonly passwordFile?: string }

const defaultFolder = './data/platform'
const defaultPort = 4010
const stderr = 2

/** Adds `platform …`: running the compliance platform on this machine, and operating it. */
export function platformCommands(program: Command): void {
  const platform = program.command('platform').description('Run and operate the compliance platform on this machine')
  addServe(platform)
  addAccounts(platform.command('accounts').description('Accounts of the platform'))
  addKeys(platform.command('keys').description('API keys of the platform'))
  addOperators(platform.command('operators').description('Who may use the Personnel page'))
  operating(platform.command('sync-identities').description('Fold the HR records of an account into its personnel now'))
    .requiredOption('--account <name>', 'the account')
    .action((options: CommonOptions & { account: string }) =>
      asOperator(options, (operator) => operator.syncIdentities(options.account), renderSync),
    )
  operating(
    platform.command('seed').description('Add the accounts, workspaces and people of a file that are not there yet'),
  )
    .requiredOption('--file <path>', 'the seed, such as config/platform-seed.yaml')
    .action(async (options: CommonOptions & { file: string }) => {
      const document = await readSeed(options.file)
      await asOperator(
        options,
        (operator) => operator.seed(document),
        ({ accounts, workspaces, people }) =>
          `added ${accounts} accounts, ${workspaces} workspaces and ${people} people`,
      )
    })
  platform
    .command('openapi')
    .description('Print the OpenAPI document of the public interface')
    .option('--json', 'the document is JSON in any case')
    .action(() =>
      print(
        openapi(platformAreas, { title: 'Compliance Management Public API', version: '2', servers: [platformPrefix] }),
      ),
    )
}

function addServe(platform: Command): void {
  located(platform.command('serve').description('Serve the public interface until stopped'))
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--port <number>', 'the port to listen on; 0 takes a free one', portNumber, defaultPort)
    .option('--sync-at <cron>', 'when the nightly identity sync runs', '0 3 * * *')
    .option('--time-zone <name>', 'the time zone of --sync-at', 'UTC')
    .option('--no-sync', 'run the identity sync only by hand')
    .option('--seed <file>', 'seed the database while it has no account')
    .option('--key-file <path>', 'keep a working all-access key of the first account in this file, for its owner only')
    .option(
      '--behind-https',
      'the Personnel page is reached over HTTPS, through a proxy: its cookies travel over HTTPS only',
    )
    .action(async (options: ServeCommandOptions) => {
      await using service = await startService({
        ...options,
        sync: options.sync ? { cron: options.syncAt, timeZone: options.timeZone } : null,
        operatorToken: process.env.PLATFORM_OPERATOR_TOKEN || undefined,
        isBehindHttps: options.behindHttps,
        logger: pino({ base: null, timestamp: pino.stdTimeFunctions.isoTime }, pino.destination(stderr)),
      })
      const { baseUrl, operatorUrl, port } = service
      show(
        options,
        { baseUrl, operatorUrl, port, database: service.database.place },
        () => `The platform serves ${baseUrl} on ${service.database.place}. Ctrl-C stops it.`,
      )
      await untilStopped()
    })
}

function addAccounts(accounts: Command): void {
  operating(accounts.command('create').description('Open an account'))
    .requiredOption('--name <name>', 'how you name the account')
    .option('--entitlement <name...>', 'the features of its plan', ['CUSTOM_CONNECTIONS_AND_TESTS'])
    .option('--accept-terms', 'record that its terms are accepted')
    .action((options: CommonOptions & { name: string; entitlement: string[]; acceptTerms?: boolean }) => {
      const account = parseInput(AccountInput, {
        name: options.name,
        entitlements: options.entitlement,
        termsAcceptedAt: options.acceptTerms ? new Date().toISOString() : null,
      })
      return asOperator(
        options,
        (operator) => operator.createAccount(account),
        ({ id, name }) => `account ${id}: ${name}`,
      )
    })
}

function addKeys(keys: Command): void {
  operating(keys.command('create').description('Make an API key and print it, this once'))
    .requiredOption('--account <name>', 'the account it belongs to')
    .requiredOption('--name <name>', 'what it is for')
    .option('--permission <key...>', 'the permissions it holds (default: all)')
    .option('--all-read', 'everything that reads')
    .option('--expires <instant>', 'when it ends, or "never" (default: in twelve months)')
    .action((options: KeyOptions) => {
      const key = parseInput(KeyInput, {
        account: options.account,
        name: options.name,
        permissions: options.permission ?? (options.allRead ? 'all-read' : 'all'),
        ...(options.expires !== undefined && { expiresAt: options.expires === 'never' ? null : options.expires }),
      })
      return asOperator(
        options,
        (operator) => operator.createKey(key),
        (created) => created.key,
      )
    })
  operating(keys.command('list').description('List all API keys, without the keys themselves')).action(
    (options: CommonOptions) => asOperator(options, (operator) => operator.listKeys(), renderKeys),
  )
  operating(keys.command('revoke').description('End an API key for good'))
    .argument('<id>', 'its number, as `keys list` shows it', wholeNumber)
    .action((id: number, options: CommonOptions) =>
      asOperator(
        options,
        async (operator) => {
          await operator.revokeKey(id)
          return { id, state: 'revoked' }
        },
        () => `key ${id} is revoked`,
      ),
    )
}

function addOperators(operators: Command): void {
  withPassword(operators.command('create').description('Let somebody use the Personnel page'))
    .option('--account <name>', 'the one account to see (default: all)')
    .action(async (options: PasswordOptions & { account?: string }) => {
      const operator = parseInput(OperatorInput, {
        name: options.name,
        account: options.account ?? null,
        password: await readPassword(options.passwordFile),
      })
      await asOperator(
        options,
        (access) => access.createOperator(operator),
        ({ id, name, account }) => `operator ${id}: ${name}, ${account ?? 'all accounts'}`,
      )
    })
  operating(operators.command('list').description('List who may use the Personnel page')).action(
    (options: CommonOptions) => asOperator(options, (access) => access.listOperators(), renderOperators),
  )
  withPassword(operators.command('set-password').description('Replace a password and end the sessions with it')).action(
    async (options: PasswordOptions) => {
      const operator = parseInput(OperatorPassword, {
        name: options.name,
        password: await readPassword(options.passwordFile),
      })
      await asOperator(
        options,
        async (access) => {
          await access.setOperatorPassword(operator)
          return { name: operator.name, state: 'changed' }
        },
        ({ name }) => `the password of ${name} is changed; every session of theirs has ended`,
      )
    },
  )
  operating(operators.command('remove').description('Let somebody no longer use the Personnel page'))
    .requiredOption('--name <name>', 'the operator')
    .action(({ name, ...options }: CommonOptions & { name: string }) =>
      asOperator(
        options,
        async (access) => {
          await access.removeOperator(name)
          return { name, state: 'removed' }
        },
        () => `operator ${name} is removed`,
      ),
    )
}

function withPassword(command: Command): Command {
  return operating(command)
    .requiredOption('--name <name>', 'what the operator signs in with')
    .option('--password-file <path>', 'a file that holds the password (default: standard input)')
}

function located(command: Command): Command {
  return command
    .addOption(
      new Option('--database <place>', 'postgres://… or a folder')
        .env('PLATFORM_DATABASE_URL')
        .argParser((place: string) => place || defaultFolder)
        .default(defaultFolder),
    )
    .option('--json', 'print one JSON document on stdout and nothing else there')
}

function operating(command: Command): Command {
  return located(command).option('--url <address>', 'a running platform, such as http://127.0.0.1:4010/operator/v1')
}

async function asOperator<T>(
  { database, url, json }: CommonOptions,
  work: (operator: Operator) => Promise<T>,
  render: (result: T) => string,
): Promise<void> {
  await using access = await openOperator({ database, url, token: process.env.PLATFORM_OPERATOR_TOKEN || undefined })
  show({ json }, await work(access.operator), render)
}

function parseInput<S extends z.ZodType>(schema: S, input: unknown): z.output<S> {
  const parsed = schema.safeParse(input)
  if (parsed.success) return parsed.data
  throw new Failure('usage', z.prettifyError(parsed.error).replaceAll('\n', ' '))
}

function portNumber(text: string): number {
  const port = wholeNumber(text)
  if (port > 65_535) throw new InvalidArgumentError('It must be a port number.')
  return port
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

function show<T>({ json }: { json?: boolean | undefined }, result: T, render: (result: T) => string): void {
  if (json) print(result)
  else process.stdout.write(`${render(result)}\n`)
}

function print(document: unknown): void {
  process.stdout.write(`${JSON.stringify(document, null, 2)}\n`)
}

function renderKeys(keys: readonly KeyListing[]): string {
  if (keys.length === 0) return 'no API keys'
  return keys
    .map(({ id, account, name, access, permissions, state, expiresAt }) =>
      [
        id,
        state,
        account,
        name,
        access === 'custom' ? permissions.join(',') : access,
        expiresAt ?? 'never expires',
      ].join('\t'),
    )
    .join('\n')
}

function renderOperators(operators: readonly OperatorListing[]): string {
  if (operators.length === 0) return 'no operators'
  return operators.map(({ id, name, account }) => [id, name, account ?? 'all accounts'].join('\t')).join('\n')
}

function renderSync({ identities, created, changed, counts, durationMs }: SyncResult): string {
  const people = Object.entries(counts).filter(([, count]) => count > 0)
  return [
    `${identities} HR records in ${durationMs} ms: ${created} people created, ${changed} changed`,
    ...people.map(([status, count]) => `  ${status} ${count}`),
  ].join('\n')
}
