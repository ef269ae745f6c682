import { type FileHandle, open } from 'node:fs/promises'
import type { Command } from 'commander'
import { errorCode, Failure } from '../../../errors.ts'
import { jsonOutput } from '../../../text/json-output.ts'
import { writeOwnFile } from '../../export/owner-only-file.ts'
import {
  type DatabaseOptions,
  type PlatformOptions,
  printResult,
  withDatabaseOption,
  withPlatform,
  withPlatformOptions,
} from './operating.ts'

type FileOption = { readonly file: string }

const standardOutput = '-'

/** Adds `platform export` and `platform import`. */
export function exportCommands(platform: Command): void {
  withPlatformOptions(platform.command('export').description('Write all data of the platform as one JSON document'))
    .requiredOption('--file <path>', 'the file to write, readable by you only; - for the standard output')
    .action(async (options: PlatformOptions & FileOption) => {
      const { file } = options
      if (file === standardOutput) return withPlatform(options, (operator) => operator.writeExport(jsonOutput()))
      const bytes = await writeOwnFile(file, (sink) => withPlatform(options, (operator) => operator.writeExport(sink)))
      printResult(options, { file, bytes }, () => `wrote all data of the platform to ${file} (${bytes} bytes)`)
    })
  withDatabaseOption(platform.command('import').description('Import an export into an empty platform'))
    .requiredOption('--file <path>', 'a file that `platform export` wrote')
    .action(async (options: DatabaseOptions & FileOption) => {
      await using source = await openExport(options.file)
      const { importPlatform } = await import('../../export/import-platform.ts')
      await using database = await openForImport(options.database)
      const result = await importPlatform(database.db, source.createReadStream())
      printResult(options, result, ({ rows, tables }) => `imported ${rows} rows of ${tables} tables`)
    })
}

async function openExport(file: string): Promise<FileHandle> {
  try {
    return await open(file)
  } catch (error) {
    throw new Failure('source_unreadable', `cannot read the export ${file} (${errorCode(error) ?? 'unknown reason'})`, {
      cause: error,
    })
  }
}

async function openForImport(database: string) {
  try {
    const { openPlatformDatabase } = await import('../../core/database.ts')
    return await openPlatformDatabase(database)
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'already_active') throw error
    throw new Failure(
      'already_active',
      `a platform runs on ${database}; stop it for the import, or name a new --database`,
      { cause: error },
    )
  }
}
