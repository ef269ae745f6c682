import type { Command } from 'commander'
import { platformAreas, platformPrefix } from '../../contract/platform.ts'
import { openapi } from '../../http/openapi.ts'
import { print } from './operating.ts'

/** Adds `platform openapi`. */
export function openapiCommand(platform: Command): void {
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
