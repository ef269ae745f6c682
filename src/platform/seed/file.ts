import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { errorCode, Failure } from '../../errors.ts'
import { NewAudit, NewAuditRequest } from '../audits/audit-input.ts'
import { SeedDocument } from './document.ts'
import { LibraryDocument } from './library-document.ts'

const NamesLibrary = z.looseObject({ library: z.string() })

/**
 * The seed in a YAML file, with the library in the file that its key `library` names, beside it. A file that is missing or
 * wrong is a failure that names the file and the place inside it.
 */
export async function readSeed(file: string): Promise<SeedDocument> {
  const document = await readYaml(file, 'seed')
  const naming = NamesLibrary.safeParse(document)
  if (!naming.success) return checked(SeedDocument, { file, noun: 'seed', document })
  const library = await readLibrary(resolve(dirname(file), naming.data.library))
  return checked(SeedDocument, { file, noun: 'seed', document: { ...naming.data, library } })
}

/** The control library in a YAML file; fails like a seed. */
export async function readLibrary(file: string): Promise<LibraryDocument> {
  const noun = 'control library'
  return checked(LibraryDocument, { file, noun, document: await readYaml(file, noun) })
}

/** An audit in a YAML or JSON file, as a seed would hold it; fails like a seed. */
export async function readAudit(file: string): Promise<NewAudit> {
  return checked(NewAudit, { file, noun: 'audit', document: await readYaml(file, 'audit') })
}

/** The same for a request of an audit. */
export async function readAuditRequest(file: string): Promise<NewAuditRequest> {
  return checked(NewAuditRequest, { file, noun: 'audit request', document: await readYaml(file, 'audit request') })
}

function checked<S extends z.ZodType>(
  schema: S,
  { file, noun, document }: { file: string; noun: string; document: unknown },
): z.output<S> {
  const parsed = schema.safeParse(document)
  if (parsed.success) return parsed.data
  const issues = parsed.error.issues.map(({ path, message }) => `${path.join('.') || 'the document'}: ${message}`)
  throw new Failure('config_invalid', `${file} is no ${noun}: ${issues.join('; ')}`)
}

async function readYaml(file: string, noun: string): Promise<unknown> {
  return parseYaml(file, await readText(file, noun))
}

async function readText(file: string, noun: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    const code = errorCode(error) ?? 'unknown reason'
    throw new Failure('source_unreadable', `cannot read the ${noun} ${file} (${code})`, { cause: error })
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
