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
import { answerQuestions, answersOf, merged, type ReadingOptions, requireStatusColumn } from '../init/questions.ts'
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

/** Options about an export, which a recipe has no use for. */
const exportOptions = ['source', 'preset', 'encoding', 'delimiter', 'sheet'] as const
/** Options about people who are listed, which a source that is pushed has no use for. */
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

type Written = TriedKey & {
  readonly file: string
  readonly result: SourceResult
  /** Null: people are read, or the token of the identity system could not be created. */
  readonly sender: SenderResult | null
}

/** A source that was looked at, and how it was. */
type SourceResult = {
  /** Asks for what is still open of the connection. */
  readonly connect: () => Promise<ConnectionText>
  /** What a program gets to know. */
  readonly document: object
  /** The pattern of later exports; null: the source has none. */
  readonly pattern: string | null
  /** The connection that an identity system pushes to, if it is one. */
  readonly pushed?: { readonly name: string; readonly publicUrl: string | null }
}

/** Previews a source, proposes how it is read, asks what only a person knows, tries the key, and writes a configuration. */
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

type Asking = { readonly output: Output; readonly prompts: Prompts | null; readonly signal: AbortSignal }

/** All steps up to the written configuration. `prompts`: null asks nothing. */
async function write(options: InitOptions, asking: Asking): Promise<Written> {
  const { prompts, signal } = asking
  const file = resolve(options.out)
  const folder = dirname(file)
  if (options.replace !== true && (await isThere(file))) throw fileExistsFailure(options.out)
  const { recipe } = options
  const result =
    recipe === undefined
      ? await exportResult(options, { ...asking, folder })
      : await recipeResult({ ...options, recipe }, { ...asking, file })
  const platform = await untilGood(() => platformOf(options, prompts), asking, options.platformUrl ?? options.region)
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
  return { file, result, ...(await withSender(tried, config, { ...options, connection: pushed.name })) }
}

/** The token of the identity system. The configuration stays if it cannot be created, such as in a store of another configuration. */
async function withSender(
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

async function exportResult(options: InitOptions, asking: Asking & { readonly folder: string }): Promise<SourceResult> {
  const { output, prompts } = asking
  const looked = await sourceOf(options, asking)
  if (looked === null) return await scimResult(options, asking)
  const proposal = await agreed(looked, options, asking)
  const path = await pathOf(looked, prompts)
  const source = { ...looked.source, ...(path !== null && { path }) }
  const { table, mapping: _mapping, ...rest } = shownProposal(proposal, options, output)
  const { rows, ...form } = table
  return {
    async connect() {
      const name = options.name ?? (await prompts?.text('Name of the connection?', 'HR')) ?? 'HR'
      const timeZone = await untilGood(() => timeZoneOf(proposal, options, prompts), asking, options.timeZone)
      return exportConnection(proposal, { name: toConnectionName(name), target: name, timeZone, source })
    },
    document: { export: { ...form, rows: rows.length }, ...rest },
    pattern: typeof source.path === 'string' && source.path.includes('*') ? source.path : null,
  }
}

async function recipeResult(
  options: InitOptions & { readonly recipe: string },
  asking: Asking & { readonly file: string },
): Promise<SourceResult> {
  const foreign = exportOptions.find((option) => options[option] !== undefined)
  if (foreign !== undefined)
    throw new Failure(
      'usage',
      `--recipe reads a list by API, and goes without --${foreign}: change what it reads in the configuration`,
    )
  const { connection, preview } = await connectRecipe(options, asking)
  const { people, held, ...counted } = preview
  const shown = asking.output.mayShowValues({ showValues: !asking.output.json || options.showValues === true })
  const list = { ...counted, people: shown ? people : [], held: held.map(({ name, reason }) => ({ name, reason })) }
  return { connect: async () => connection, document: { recipe: options.recipe, list }, pattern: null }
}

async function scimResult(options: InitOptions, asking: Asking): Promise<SourceResult> {
  const foreign = listedOptions.find((option) => [options[option] ?? []].flat().length > 0)
  if (foreign !== undefined)
    throw new Failure('usage', `an identity system lists nobody, so that --source scim goes without --${foreign}`)
  const { connection, name, publicUrl } = await connectScim(options, asking)
  return { connect: async () => connection, document: {}, pattern: null, pushed: { name, publicUrl } }
}

/** Asks until the answer can be used. A value given as an option is not asked for; an unusable one is refused at once. */
async function untilGood<T>(
  ask: () => Promise<T>,
  { output, prompts }: Asking,
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
  asking: Asking & { readonly folder: string },
): Promise<SourcePreview | null> {
  const { prompts, folder, signal } = asking
  const { source, secretFile, hostKey } = options
  const settings = pairsIn('--set', options.set)
  return await untilGood(
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

/** The proposal that the person confirms, or that follows from the options alone. */
async function agreed(preview: SourcePreview, options: InitOptions, { output, prompts }: Asking): Promise<Proposal> {
  let { form, table } = await tableOfPreview(preview, options, { prompts, output })
  let knownAnswers = await answersOf(table, options)
  for (;;) {
    const { proposal, answers } = await answerQuestions(table, knownAnswers, prompts)
    requireStatusColumn(proposal, options)
    output.printPart(renderProposal(shownProposal(proposal, options, output), output.paint))
    if (prompts === null || (await prompts.confirm('Is this correct?'))) return proposal
    const change = await askChange(proposal, prompts)
    knownAnswers = merged(answers, change.answers ?? {})
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

/** The path pattern of the exports if a single file was named; null: the path stays. */
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

async function keyOf(options: InitOptions, asking: Asking): Promise<{ keyFile: string; key: string }> {
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

async function isThere(file: string): Promise<boolean> {
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

/** Examples are cells of people: they are shown on a terminal, and on request. */
function shownProposal(proposal: Proposal, { showValues = false }: InitOptions, output: Output): Proposal {
  if (output.mayShowValues({ showValues: !output.json || showValues })) return proposal
  return { ...proposal, fields: proposal.fields.map((field) => ({ ...field, examples: [] })) }
}

function documentOf({ file, result, permissions, trouble, sender }: Written) {
  return { file, ...result.document, ...(sender && { scim: sender }), permissions, trouble }
}

function renderWritten({ file, result, permissions, trouble, sender }: Written, paint: Paint): string {
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
