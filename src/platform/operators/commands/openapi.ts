import type { Command } from 'commander'
import { printJson } from '../../../text/print.ts'
import { platformDocument } from '../../core/document.ts'
import { baseAddresses } from './operating.ts'

/** Adds `platform openapi`. */
export function openapiCommand(platform: Command): void {
  platform
    .command('openapi')
    .description('Print the OpenAPI document of the public interface')
    .option('--json', 'no effect: the document is always JSON')
    .option('--server <url...>', 'the base addresses in the document (default: the path alone)', baseAddresses)
    .action(({ server }: { server?: string[] }) => printJson(platformDocument(new Date(), server)))
}
