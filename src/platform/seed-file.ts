import { readFile } from 'node:fs/promises'
import { parse } from 'yaml'
import { Failure } from '../errors.ts'
import { SeedDocument } from './operator-contract.ts'

/** The seed in a YAML file; a file that is missing or wrong is a failure that names the place inside it. */
export async function readSeed(file: string): Promise<SeedDocument> {
  const checked = SeedDocument.safeParse(parseYaml(file, await readText(file)))
  if (checked.success) return checked.data
  const issues = checked.error.issues.map(({ path, message }) => `${path.join('.') || 'the document'}: ${message}`)
  throw new Failure('config_invalid', `${file} is no seed: ${issues.join('; ')}`)
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown reason'
    throw new Failure('source_unreadable', `cannot read the seed ${file} (${code})`, { cause: error })
  }
}

function parseYaml(file: string, text: string): unknown {
  try {
    return parse(text)
  } catch (error) {
    const reason = error instanceof Error ? error.message.split('\n')[0] : String(error)
    throw new Failure('config_invalid', `${file} is not YAML: ${reason}`, { cause: error })
  }
}
