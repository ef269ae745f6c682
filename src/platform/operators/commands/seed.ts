import type { Command } from 'commander'
import { pluralize } from '../../../web/words.ts'
import { readSeed } from '../../seed/file.ts'
import { type PlatformOptions, runOnPlatform, withPlatformOptions } from './operating.ts'

/** Adds `platform seed`. */
export function seedCommand(platform: Command): void {
  withPlatformOptions(platform.command('seed').description('Add the objects of a seed that do not exist'))
    .requiredOption('--file <path>', 'the seed, such as config/platform-seed.yaml')
    .action(async (options: PlatformOptions & { file: string }) => {
      const document = await readSeed(options.file)
      await runOnPlatform(
        options,
        (operator) => operator.seed({ body: document }),
        ({ accounts, workspaces, people }) =>
          `added ${pluralize(accounts, 'account')}, ${pluralize(workspaces, 'workspace')} and ${pluralize(people, 'person', 'people')}`,
      )
    })
}
