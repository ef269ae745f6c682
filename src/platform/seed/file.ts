import { readFile } from 'node:fs/promises'
import { dirname, resolve } from 'node:path'
import { parse } from 'yaml'
import { z } from 'zod'
import { errorCode, Failure } from '../../errors.ts'
import { NewAudit, NewAuditRequest } from '../audits/audit-input.ts'
import { SeedDocument } from './document.ts'
import { LibraryDocument } from './library-document.ts'

type ParsedDocument = { readonly file: string; readonly noun: string; readonly document: unknown }

const NamesLibrary = z.looseObject({ library: z.string() })

/**
 * Reads a seed from a YAML file, with the library from the file that its key `library` names, relative to the seed. A missing or
 * invalid file is a failure that names the file and the path inside it.
 */
export async function readSeed(file: string): Promise<SeedDocument> {
  const document = await readYaml(file, 'seed')
  const naming = NamesLibrary.safeParse(document)
  if (!naming.success) return checked(SeedDocument, { file, noun: 'seed', document })
  const library = await readLibrary(resolve(dirname(file), naming.data.library))
  return checked(SeedDocument, { file, noun: 'seed', document: { ...naming.data, library } })
}

/** Reads a control library from a YAML file; fails as `readSeed`. */
export async function readLibrary(file: string): Promise<LibraryDocument> {
  const noun = 'control library'
  return checked(LibraryDocument, { file, noun, document: await readYaml(file, noun) })
}

/** Reads an audit from a YAML or JSON file; fails as `readSeed`. */
export async function readAudit(file: string): Promise<NewAudit> {
  return checked(NewAudit, { file, noun: 'audit', document: await readYaml(file, 'audit') })
}

/** Reads an audit request from a YAML or JSON file; fails as `readSeed`. */
export async function readAuditRequest(file: string): Promise<NewAuditRequest> {
  return checked(NewAuditRequest, { file, noun: 'audit request', document: await readYaml(file, 'audit request') })
}

function checked<S extends z.ZodType>(schema: S, { file, noun, document }: ParsedDocument): z.output<S> {
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
