import { type Command, InvalidArgumentError, Option } from 'commander'
import type { LimitKind } from '../../../http/server/request-limit.ts'
import { AddressRange } from '../../accounts/contract.ts'
import { baseAddresses, type DatabaseOptions, printResult, wholeNumber, withDatabaseOption } from './operating.ts'

type ServeOptions = DatabaseOptions & {
  readonly host: string
  readonly port: number
  readonly syncAt: string
  readonly timeZone: string
  readonly sync: boolean
  readonly seed?: string
  readonly keyFile?: string
  readonly requestsPerMinute: number
  readonly rateLimit: LimitKind
  readonly trustProxy?: string[]
  readonly baseAddress?: string[]
  readonly behindHttps?: boolean
}

const defaultPort = 4010
const defaultRequestsPerMinute = 500

/** Adds `platform serve`. */
export function serveCommand(platform: Command): void {
  withDatabaseOption(platform.command('serve').description('Serve the public API until stopped'))
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--port <number>', 'the port to listen on; 0 takes a free one', portNumber, defaultPort)
    .option('--sync-at <cron>', 'when the nightly identity sync runs', '0 3 * * *')
    .option('--time-zone <name>', 'the time zone of --sync-at', 'UTC')
    .option('--no-sync', 'run the identity sync only on request')
    .option('--seed <file>', 'seed the database if it has no account')
    .option('--key-file <path>', 'keep a working all-access key of the first account in this file, for its owner only')
    .option(
      '--requests-per-minute <number>',
      'maximum number of requests of one address to the public API; 0: no limit',
      wholeNumber,
      defaultRequestsPerMinute,
    )
    .addOption(
      new Option(
        '--rate-limit <form>',
        'the form of that limit: a number in each minute, or a bucket that leaks evenly',
      )
        .choices(['minute', 'leaky'] satisfies LimitKind[])
        .default('minute'),
    )
    .option('--behind-https', 'a proxy serves the Personnel page over HTTPS: cookies are sent over HTTPS only')
    .option('--trust-proxy <address...>', 'the reverse proxies whose X-Forwarded-For names the caller', addressRanges)
    .option(
      '--base-address <url...>',
      'the public addresses of the API in its document (default: the path alone)',
      baseAddresses,
    )
    .action(async (options: ServeOptions) => {
      const [{ createServerLogger }, { startService, untilStopped }] = await Promise.all([
        import('../../../telemetry/log.ts'),
        import('../../serve.ts'),
      ])
      await using service = await startService({
        ...options,
        sync: options.sync ? { cron: options.syncAt, timeZone: options.timeZone } : null,
        requestsPerMinute: options.requestsPerMinute || null,
        trustedProxies: options.trustProxy,
        baseAddresses: options.baseAddress,
        isBehindHttps: options.behindHttps,
        operatorToken: process.env.PLATFORM_OPERATOR_TOKEN || undefined,
        logger: createServerLogger(),
      })
      const { baseUrl, operatorUrl, port } = service
      printResult(
        options,
        { baseUrl, operatorUrl, port, database: service.database.location },
        () => `The platform serves ${baseUrl} on ${service.database.location}. Ctrl-C stops it.`,
      )
      await untilStopped()
    })
}

function addressRanges(text: string, before: readonly string[] = []): string[] {
  const parsed = AddressRange.safeParse(text)
  if (!parsed.success) throw new InvalidArgumentError('It must be an address, or a network such as 10.0.0.0/8.')
  return [...before, parsed.data]
}

function portNumber(text: string): number {
  const port = wholeNumber(text)
  if (port > 65_535) throw new InvalidArgumentError('It must be a port number.')
  return port
}
