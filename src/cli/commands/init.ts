import { access, writeFile } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import type { Config } from '../../daemon/config/config.ts'
import { loadConfig } from '../../daemon/config/load-config.ts'
import {
  type ConnectionText,
  configurationText,
  exportConnection,
  requireTimeZone,
  toConnectionName,
} from '../../daemon/proposal/configuration.ts'
import { previewSource, type SourcePreview, sourceForms } from '../../daemon/proposal/preview-source.ts'
import type { Proposal } from '../../daemon/proposal/proposal.ts'
import { readTable } from '../../daemon/proposal/table.ts'
import { errorCode, Failure, failures } from '../../errors.ts'
import { pathFrom } from '../../system/path-from.ts'
import { standardError } from '../../text/print.ts'
import { askChange } from '../init/changes.ts'
import { tableOfPreview } from '../init/encoding.ts'
import { keyIn, platformOf, type TriedKey, tryKey } from '../init/platform.ts'
import {
  answerQuestions,
  answersOf,
  mergeAnswers,
  type ReadingOptions,
  requireStatusColumn,
} from '../init/questions.ts'
import { connectRecipe, pairsIn } from '../init/recipe.ts'
import { connectScim, createSender, pushedSource, type SenderResult } from '../init/scim.ts'
import { renderPermissions, renderProposal } from '../render/proposal.ts'
import { renderSender } from '../render/sender.ts'
import { escapeText, type Paint } from '../render/text.ts'
import { createOutput, type Output } from '../session/output.ts'
import { type Prompts, Stopped, terminalPrompts } from '../session/prompts.ts'
import { listenForStop } from '../session/stop-signal.ts'

/** The options of `rollcall init`. */
export type InitOptions = ReadingOptions & {
  readonly source?: string
  readonly recipe?: string
  readonly parameter: readonly string[]
  readonly credential: readonly string[]
  readonly set: readonly string[]
  readonly secretFile?: string
  readonly hostKey?: string
  readonly platformUrl?: string
  readonly region?: string
  readonly keyFile?: string
  readonly name?: string
  readonly timeZone?: string
  readonly publicUrl?: string
  readonly by: string
  readonly out: string
  readonly replace?: boolean
  readonly yes?: boolean
  readonly json?: boolean
  readonly showValues?: boolean
  readonly encoding?: string
  readonly delimiter?: string
  readonly headerLine?: number
  readonly sheet?: string
}

/** Options that only an export uses; `--recipe` refuses them. */
const exportOptions = ['source', 'preset', 'encoding', 'delimiter', 'sheet'] as const
/** Options that only a list of people uses; `--source scim` refuses them. */
const listedOptions = [
  'preset',
  'encoding',
  'delimiter',
  'headerLine',
  'sheet',
  'field',
  'left',
  'employed',
  'set',
] as const

type InitResult = TriedKey & {
  readonly file: string
  readonly result: SourceResult
  /** Null: Rollcall reads the people, or the token of the identity system could not be created. */
  readonly sender: SenderResult | null
}

/** What `init` knows of the source after its preview. */
type SourceResult = {
  /** Asks the remaining questions about the connection. */
  readonly connect: () => Promise<ConnectionText>
  /** What `--json` prints about the source. */
  readonly document: object
  /** The pattern of later exports; null: the source has none. */
  readonly pattern: string | null
  /** The connection that an identity system pushes to, if the source is one. */
  readonly pushed?: { readonly name: string; readonly publicUrl: string | null }
}

/** Previews a source, proposes how it is read, asks what only a person knows, tests the key, and writes a configuration. */
export async function init(options: InitOptions): Promise<number> {
  const output = createOutput({ json: options.json })
  const prompts = await promptsFor(options)
  using stop = listenForStop()
  try {
    const written = await write(options, { output, prompts, signal: stop.signal })
    output.printResult(documentOf(written), (_document, paint) => renderWritten(written, paint))
    return written.trouble === null ? 0 : failures[written.trouble.code].exit
  } catch (error) {
    if (!(error instanceof Stopped)) throw error
    output.printMessage('Nothing was written.')
    return failures.usage.exit
  }
}

async function promptsFor({ yes = false, json = false }: InitOptions): Promise<Prompts | null> {
  if (yes || json) return null
  if (process.stdin.isTTY && standardError.isTerminal) return await terminalPrompts()
  throw new Failure('usage', 'there is no terminal for questions: use --yes, and answer with options')
}

type InitSession = { readonly output: Output; readonly prompts: Prompts | null; readonly signal: AbortSignal }

/** All steps up to the written configuration. `prompts`: null asks nothing. */
async function write(options: InitOptions, asking: InitSession): Promise<InitResult> {
  const { prompts, signal } = asking
  const file = resolve(options.out)
  const folder = dirname(file)
  if (options.replace !== true && (await fileExists(file))) throw fileExistsFailure(options.out)
  const { recipe } = options
  const result =
    recipe === undefined
      ? await exportResult(options, { ...asking, folder })
      : await recipeResult({ ...options, recipe }, { ...asking, file })
  const platform = await askUntilUsable(
    () => platformOf(options, prompts),
    asking,
    options.platformUrl ?? options.region,
  )
  const { keyFile, key } = await keyOf(options, asking)
  const connection = await result.connect()
  const tried = await tryKey({ platform, key, signal })
  signal.throwIfAborted()
  const apiKey = `\${file:${pathFrom(folder, resolve(keyFile))}}`
  const { pushed } = result
  const text = configurationText(connection, { platform, apiKey, publicUrl: pushed?.publicUrl ?? null })
  await writeConfiguration(file, text, options)
  const config = await loadConfig(file, process.env)
  if (pushed === undefined) return { file, result, ...tried, sender: null }
  return { file, result, ...(await addSender(tried, config, { ...options, connection: pushed.name })) }
}

/** Creates the token of the identity system. If that fails, as in the store of another configuration, the written configuration stays. */
async function addSender(
  { permissions, trouble }: TriedKey,
  config: Config,
  options: Pick<InitOptions, 'by' | 'json'> & { readonly connection: string },
): Promise<TriedKey & { readonly sender: SenderResult | null }> {
  try {
    return { permissions, trouble, sender: await createSender(config, options) }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    const help = `"rollcall token create --role scim --connection ${options.connection} --name NAME" creates one later`
    const message = `the token of the identity system was not created, because ${error.message}; ${help}`
    return { permissions, trouble: trouble ?? { code: error.code, message }, sender: null }
  }
}

async function exportResult(
  options: InitOptions,
  asking: InitSession & { readonly folder: string },
): Promise<SourceResult> {
  const { output, prompts } = asking
  const preview = await sourceOf(options, asking)
  if (preview === null) return await scimResult(options, asking)
  const proposal = await confirmProposal(preview, options, asking)
  const path = await pathOf(preview, prompts)
  const source = { ...preview.source, ...(path !== null && { path }) }
  const { table, mapping: _mapping, ...rest } = shownProposal(proposal, options, output)
  const { rows, ...form } = table
  return {
    async connect() {
      const name = options.name ?? (await prompts?.text('Name of the connection?', 'HR')) ?? 'HR'
      const timeZone = await askUntilUsable(() => timeZoneOf(proposal, options, prompts), asking, options.timeZone)
      return exportConnection(proposal, { name: toConnectionName(name), target: name, timeZone, source })
    },
    document: { export: { ...form, rows: rows.length }, ...rest },
    pattern: typeof source.path === 'string' && source.path.includes('*') ? source.path : null,
  }
}

async function recipeResult(
  options: InitOptions & { readonly recipe: string },
  asking: InitSession & { readonly file: string },
): Promise<SourceResult> {
  const unusable = exportOptions.find((option) => options[option] !== undefined)
  if (unusable !== undefined)
    throw new Failure(
      'usage',
      `--recipe reads a list by API and cannot be used with ${flagOf(unusable)}: change what it reads in the configuration`,
    )
  const { connection, preview } = await connectRecipe(options, asking)
  const { people, held, ...counted } = preview
  const shown = asking.output.mayShowValues({ showValues: !asking.output.json || options.showValues === true })
  const list = { ...counted, people: shown ? people : [], held: held.map(({ name, reason }) => ({ name, reason })) }
  return { connect: async () => connection, document: { recipe: options.recipe, list }, pattern: null }
}

async function scimResult(options: InitOptions, asking: InitSession): Promise<SourceResult> {
  const unusable = listedOptions.find((option) => [options[option] ?? []].flat().length > 0)
  if (unusable !== undefined)
    throw new Failure(
      'usage',
      `an identity system pushes people, so --source scim cannot be used with ${flagOf(unusable)}`,
    )
  const { connection, name, publicUrl } = await connectScim(options, asking)
  return { connect: async () => connection, document: {}, pattern: null, pushed: { name, publicUrl } }
}

/** An option as it is typed: `headerLine` is `--header-line`. */
function flagOf(option: string): string {
  return `--${option.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`
}

/** Asks until the answer can be used. A value given as an option is not asked for; an unusable option is refused at once. */
async function askUntilUsable<T>(
  ask: () => Promise<T>,
  { output, prompts }: InitSession,
  option: string | undefined,
): Promise<T> {
  for (;;) {
    try {
      return await ask()
    } catch (error) {
      if (prompts === null || option !== undefined || !(error instanceof Failure)) throw error
      output.printMessage(error.message)
    }
  }
}

/** The source that a person names; null: an identity system pushes people. */
async function sourceOf(
  options: InitOptions,
  asking: InitSession & { readonly folder: string },
): Promise<SourcePreview | null> {
  const { prompts, folder, signal } = asking
  const { source, secretFile, hostKey } = options
  const settings = pairsIn('--set', options.set)
  return await askUntilUsable(
    async () => {
      const forms = sourceForms()
      const question = `Where is the export? ${forms.charAt(0).toUpperCase()}${forms.slice(1)}; or ${pushedSource}, if an identity system pushes people`
      const at = source ?? (await prompts?.text(question, 'exports'))
      if (at === undefined) throw new Failure('usage', `name the export with --source: ${forms}`)
      if (at === pushedSource) return null
      return await previewSource(
        { location: at, secretFile, hostKey, settings },
        { workingDirectory: process.cwd(), configFolder: folder, signal },
      )
    },
    asking,
    source,
  )
}

/** The proposal that the person confirms, or that follows from the options if nothing is asked. */
async function confirmProposal(
  preview: SourcePreview,
  options: InitOptions,
  { output, prompts }: InitSession,
): Promise<Proposal> {
  let { form, table } = await tableOfPreview(preview, options, { prompts, output })
  let knownAnswers = await answersOf(table, options)
  for (;;) {
    const { proposal, answers } = await answerQuestions(table, knownAnswers, prompts)
    requireStatusColumn(proposal, options)
    output.printPart(renderProposal(shownProposal(proposal, options, output), output.paint))
    if (prompts === null || (await prompts.confirm('Is this correct?'))) return proposal
    const change = await askChange(proposal, prompts)
    knownAnswers = mergeAnswers(answers, change.answers ?? {})
    if (change.form === undefined || 'list' in preview) continue
    form = { ...form, ...change.form }
    try {
      table = await readTable(preview.head, form)
    } catch (error) {
      if (!(error instanceof Failure)) throw error
      output.printMessage(error.message)
    }
  }
}

/** The path of later exports if the person named a single file; null: the path stays. */
async function pathOf({ laterExports: later }: SourcePreview, prompts: Prompts | null): Promise<string | null> {
  if (later === null) return null
  if (prompts === null) return later.isAlone ? later.pattern : later.path
  const choices = [
    {
      value: 'pattern',
      label: `the same name with a date or number added (${later.pattern}): the newest file is read`,
    },
    { value: 'path', label: `the same name, ${later.path}: the file is replaced` },
  ] as const
  const chosen = await prompts.choose('Which name will later exports have?', choices)
  return later[chosen]
}

async function keyOf(options: InitOptions, asking: InitSession): Promise<{ keyFile: string; key: string }> {
  const { prompts, output } = asking
  let keyFile = options.keyFile
  for (;;) {
    keyFile ??= await prompts?.text("Which file holds the platform's API key?", 'platform.key')
    if (keyFile === undefined) throw new Failure('usage', "name the file of the platform's API key with --key-file")
    try {
      return { keyFile, key: await keyIn(keyFile) }
    } catch (error) {
      if (prompts === null || !(error instanceof Failure)) throw error
      output.printMessage(`${error.message}, and enter its name.`)
      keyFile = undefined
    }
  }
}

async function fileExists(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  )
}

function fileExistsFailure(out: string): Failure {
  return new Failure(
    'usage',
    `${out} exists already and is not replaced: name another file with --out, or use --replace`,
  )
}

async function writeConfiguration(file: string, text: string, { replace = false, out }: InitOptions): Promise<void> {
  try {
    await writeFile(file, text, { flag: replace ? 'w' : 'wx' })
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw fileExistsFailure(out)
    throw new Failure('usage', `${out} cannot be written (${errorCode(error)}): name another file with --out`, {
      cause: error,
    })
  }
}

async function timeZoneOf(proposal: Proposal, { timeZone }: InitOptions, prompts: Prompts | null): Promise<string> {
  const usual = proposal.timeZone?.name ?? Temporal.Now.timeZoneId()
  const named = timeZone ?? (await prompts?.text('In which time zone are the dates of the export?', usual)) ?? usual
  return requireTimeZone(named)
}

/** The proposal without examples, unless values may be shown: examples are cells of people. */
function shownProposal(proposal: Proposal, { showValues = false }: InitOptions, output: Output): Proposal {
  if (output.mayShowValues({ showValues: !output.json || showValues })) return proposal
  return { ...proposal, fields: proposal.fields.map((field) => ({ ...field, examples: [] })) }
}

function documentOf({ file, result, permissions, trouble, sender }: InitResult) {
  return { file, ...result.document, ...(sender && { scim: sender }), permissions, trouble }
}

function renderWritten({ file, result, permissions, trouble, sender }: InitResult, paint: Paint): string {
  const { pattern, pushed } = result
  const short = relative('.', file)
  const named = short === 'rollcall.yaml' ? '' : ` --config ${escapeText(short.startsWith('..') ? file : short)}`
  return [
    '',
    ...(permissions === null
      ? []
      : ['Permissions of the key (this test changed nothing):', renderPermissions(permissions, paint), '']),
    ...(trouble === null ? [] : [`${paint('red', '✖')} ${escapeText(trouble.message)}`]),
    ...(pattern === null ? [] : [`Exports: the newest file that matches ${escapeText(pattern)}`]),
    ...(sender === null ? [] : [renderSender(sender, paint)]),
    `${paint('green', '✔')} ${escapeText(file)} was written. Next:`,
    `  rollcall check${named}  tests everything and changes nothing`,
    ...(pushed === undefined
      ? [`  rollcall plan${named}   shows what a run would do`, `  rollcall sync${named}   runs once`]
      : [`  rollcall serve${named}  receives people`]),
  ].join('\n')
}
