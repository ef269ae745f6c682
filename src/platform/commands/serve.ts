import { type Command, InvalidArgumentError } from 'commander'
import { pino } from 'pino'
import { startService, untilStopped } from '../serve.ts'
import { type LocatedOptions, located, show, wholeNumber } from './operating.ts'

type ServeOptions = LocatedOptions & {
  readonly host: string
  readonly port: number
  readonly syncAt: string
  readonly timeZone: string
  readonly sync: boolean
  readonly seed?: string
  readonly keyFile?: string
}

const defaultPort = 4010
const stderr = 2

/** Adds `platform serve`. */
export function serveCommand(platform: Command): void {
  located(platform.command('serve').description('Serve the public interface until stopped'))
    .option('--host <address>', 'the address to listen on', '127.0.0.1')
    .option('--port <number>', 'the port to listen on; 0 takes a free one', portNumber, defaultPort)
    .option('--sync-at <cron>', 'when the nightly identity sync runs', '0 3 * * *')
    .option('--time-zone <name>', 'the time zone of --sync-at', 'UTC')
    .option('--no-sync', 'run the identity sync only by hand')
    .option('--seed <file>', 'seed the database while it has no account')
    .option('--key-file <path>', 'keep a working all-access key of the first account in this file, for its owner only')
    .action(async (options: ServeOptions) => {
      await using service = await startService({
        ...options,
        sync: options.sync ? { cron: options.syncAt, timeZone: options.timeZone } : null,
        operatorToken: process.env.PLATFORM_OPERATOR_TOKEN || undefined,
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

function portNumber(text: string): number {
  const port = wholeNumber(text)
  if (port > 65_535) throw new InvalidArgumentError('It must be a port number.')
  return port
}
