import { Failure } from '../../errors.ts'
import type { Config } from '../config/config.ts'
import { digestOf } from '../config/configuration-digest.ts'
import { parseConfig } from '../config/document.ts'
import { configOfText } from '../config/load-config.ts'
import { secretNames } from '../config/secret-settings.ts'
import { objectAt, textAt } from '../config/values.ts'
import { readReplaceable, whyNotWritable } from '../config/write-config.ts'
import {
  readSections,
  type Section,
  type SectionName,
  type SectionProblem,
  sectionNames,
  sectionOf,
} from './sections.ts'

/** The file of the configuration as it is now, with the parts of one connection. */
export type OpenedFile = {
  readonly text: string
  readonly digest: string
  /** The configuration in the file. Null: it has mistakes, which `trouble` names. */
  readonly current: Config | null
  readonly sections: readonly Section[]
  /** Parts in which a secret may stand: they are neither shown nor changed. */
  readonly hidden: ReadonlySet<SectionName>
  /** Why nothing can be saved; null: it can. */
  readonly trouble: string | null
}

type OpenParts = { readonly config: Config; readonly env: NodeJS.ProcessEnv; readonly connection: string }

/** Reads the file of the configuration. Throws `not_found` if the daemon does not know the connection, and as `readReplaceable` does. */
export async function openFile({ config, env, connection }: OpenParts): Promise<OpenedFile> {
  const { file } = config
  if (!config.connections.has(connection) && !config.directories.has(connection))
    throw new Failure('not_found', `there is no connection "${connection}" in the configuration`)
  const text = await readReplaceable(file)
  const digest = digestOf(text)
  const none = { text, digest, sections: [], hidden: new Set<SectionName>() }
  const current = await configOfText({ file, text, changedMs: 0 }, env, { secrets: 'when needed' }).catch(
    (error: unknown) => {
      if (error instanceof Failure && error.code === 'config_invalid') return error
      throw error
    },
  )
  if (current instanceof Failure)
    return { ...none, current: null, trouble: `correct the file first: ${current.message.split('\n')[0]}` }
  const sections = readSections(text, connection)
  if (sections === null) return { ...none, current, trouble: whyNoSections(current, connection) }
  const hidden = await hiddenSections(text, { config, env, connection })
  const shown = sections.filter(({ name }) => !hidden.has(name))
  return { text, digest, current, sections: shown, hidden, trouble: await whyNotWritable(file) }
}

function whyNoSections({ file, connections }: Config, connection: string): string {
  const linkedTo = connections.get(connection)?.linkedTo
  if (linkedTo)
    return `${connection} reads what ${linkedTo} reads: change it in the settings of ${linkedTo}, below "also"`
  return `the settings of ${connection} do not stand in lines of their own: change them in ${file} by hand`
}

/** The parts with a setting that may be a secret and is no reference. */
async function hiddenSections(text: string, { config, env, connection }: OpenParts): Promise<Set<SectionName>> {
  const document = await parseConfig(text, { env, folder: config.folder })
  const values = document.values()
  if (!Object.hasOwn(objectAt(values, ['connections']), connection)) return new Set(sectionNames)
  const paths = [...secretNames(document)].map((name) => name.split('.'))
  const plain = paths.filter(
    (path) =>
      path[0] === 'connections' &&
      path[1] === connection &&
      textAt(values, path) !== '' &&
      document.writtenValueAt(path) !== null &&
      !document.referencesAt(path),
  )
  return new Set(plain.map((path) => sectionOf(path.slice(2))))
}

/** The mistakes of a configuration that is not written yet, beside the parts of the connection that they are in. */
export async function mistakesIn(
  text: string,
  { config, env, connection }: OpenParts,
): Promise<{ readonly next: Config } | { readonly problems: readonly SectionProblem[] }> {
  try {
    return { next: await configOfText({ file: config.file, text, changedMs: 0 }, env) }
  } catch (error) {
    if (!(error instanceof Failure) || error.code !== 'config_invalid') throw error
    return { problems: error.message.split('\n').map((line) => problemOf(line, connection)) }
  }
}

/** The line of a mistake without the file and the position, because the text is not in the file yet. */
function problemOf(line: string, connection: string): SectionProblem {
  const message = line.replace(/^.*?:\d+:\d+: /, '')
  const at = `connections.${connection}.`
  if (!message.startsWith(at)) return { section: null, message }
  const own = message.slice(at.length)
  const [path = ''] = own.split(':', 1)
  return { section: sectionOf(path.split('.')), message: own }
}
