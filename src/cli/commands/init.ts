import { access, readFile, writeFile } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { deliveryOperations } from '../../contract/platform/delivery-operations.ts'
import { loadConfig } from '../../daemon/config/config.ts'
import { readPresets } from '../../daemon/config/presets.ts'
import { regions } from '../../daemon/config/schema.ts'
import { type TriedPermission, tryPermissions } from '../../daemon/key-permissions.ts'
import { configurationOf, connectionNamed, timeZoneNamed } from '../../daemon/proposal/configuration.ts'
import { lookAt, pathFrom } from '../../daemon/proposal/look.ts'
import {
  type Answers,
  type MappedField,
  mappedFields,
  type Proposal,
  propose,
  type Question,
  stopsPlans,
} from '../../daemon/proposal/propose.ts'
import { readTable, type Table } from '../../daemon/proposal/table.ts'
import { errorCode, Failure, type FailureCode, failures } from '../../errors.ts'
import { createClient } from '../../http/client/client.ts'
import { standardError } from '../../text/print.ts'
import { createOutput, type Output } from '../output.ts'
import { type Prompts, Stopped, terminalPrompts } from '../prompts.ts'
import { renderPermissions, renderProposal } from '../render/proposal.ts'
import { counted, type Paint, shown } from '../render/text.ts'
import { listenForStop } from '../stop-signal.ts'

export type InitOptions = {
  readonly source?: string
  readonly secretFile?: string
  readonly hostKey?: string
  readonly platformUrl?: string
  readonly region?: string
  readonly keyFile?: string
  readonly name?: string
  readonly timeZone?: string
  readonly out: string
  readonly replace?: boolean
  readonly yes?: boolean
  readonly json?: boolean
  readonly showValues?: boolean
  readonly preset?: string
  readonly field: readonly string[]
  readonly dateFormat?: string
  readonly left: readonly string[]
  readonly employed: readonly string[]
  readonly encoding?: string
  readonly delimiter?: string
  readonly headerLine?: number
}

type Written = {
  readonly file: string
  readonly proposal: Proposal
  /** null: the platform could not be asked. */
  readonly permissions: readonly TriedPermission[] | null
  /** What keeps runs from working, though the configuration is written. */
  readonly trouble: { readonly code: FailureCode; readonly message: string } | null
}

/** Looks at an export, proposes how it is read, asks what only a person knows, tries the key, and writes a configuration. */
export async function init(options: InitOptions): Promise<number> {
  const output = createOutput({ json: options.json })
  const prompts = await promptsFor(options)
  using stop = listenForStop()
  try {
    const written = await write(options, { output, prompts, signal: stop.signal })
    output.result(documentOf(written, options), (_document, paint) => renderWritten(written, paint))
    return written.trouble === null ? 0 : failures[written.trouble.code].exit
  } catch (error) {
    if (!(error instanceof Stopped)) throw error
    output.note('Nothing was written.')
    return failures.usage.exit
  }
}

async function promptsFor({ yes = false, json = false }: InitOptions): Promise<Prompts | null> {
  if (yes || json) return null
  if (process.stdin.isTTY && standardError.isTerminal) return await terminalPrompts()
  throw new Failure('usage', 'there is no terminal to ask at: say --yes, and what is asked as options')
}

type Asking = { readonly output: Output; readonly prompts: Prompts | null; readonly signal: AbortSignal }

async function write(options: InitOptions, { output, prompts, signal }: Asking): Promise<Written> {
  const file = resolve(options.out)
  const folder = dirname(file)
  if (options.replace !== true && (await isThere(file))) throw isInTheWay(options.out)
  const at =
    options.source ?? (await prompts?.text('Where is the export? A file, a folder, sftp:// or https://', 'exports'))
  if (at === undefined)
    throw new Failure('usage', 'name the export with --source: a file, a folder, sftp:// or https://')
  const { secretFile, hostKey } = options
  const { head, source } = await lookAt(
    { at, secretFile, hostKey },
    { workingDirectory: process.cwd(), folder, signal },
  )
  const table = await readTable(head, options)
  const proposal = await settled(table, options, prompts)
  const shownProposal = withExamples(
    proposal,
    output.mayShowValues({ showValues: !output.json || (options.showValues ?? false) }),
  )
  output.piece(renderProposal(shownProposal, output.paint))
  if (prompts !== null && !(await prompts.confirm('Is this how the export is to be read?'))) {
    output.note(
      'Say what is different with --preset, --field FIELD=COLUMN, --date-format, --left, --employed, --encoding, --delimiter.',
    )
    throw new Stopped()
  }
  const platform = await platformOf(options, prompts)
  const keyFile = options.keyFile ?? (await prompts?.text("Which file holds the platform's API key?", 'platform.key'))
  if (keyFile === undefined) throw new Failure('usage', "name the file of the platform's API key with --key-file")
  const key = await keyIn(keyFile)
  const name = options.name ?? (await prompts?.text('What is the connection called?', 'HR')) ?? 'HR'
  const timeZone = await timeZoneOf(proposal, options, prompts)
  const tried = await tryKey({ platform, key, signal })
  signal.throwIfAborted()
  const apiKey = `\${file:${pathFrom(folder, resolve(keyFile))}}`
  const text = configurationOf(proposal, {
    platform,
    apiKey,
    name: connectionNamed(name),
    target: name,
    timeZone,
    source,
  })
  await writeConfiguration(file, text, options)
  await loadConfig(file, process.env)
  return { file, proposal: shownProposal, ...tried }
}

async function isThere(file: string): Promise<boolean> {
  return await access(file).then(
    () => true,
    () => false,
  )
}

function isInTheWay(out: string): Failure {
  return new Failure(
    'usage',
    `${out} exists already and is not replaced: name another file with --out, or say --replace`,
  )
}

async function writeConfiguration(file: string, text: string, { replace = false, out }: InitOptions): Promise<void> {
  try {
    await writeFile(file, text, { flag: replace ? 'w' : 'wx' })
  } catch (error) {
    if (errorCode(error) === 'EEXIST') throw isInTheWay(out)
    throw new Failure('usage', `${out} cannot be written (${errorCode(error)}): name another file with --out`, {
      cause: error,
    })
  }
}

/** The proposal once every question is answered: by options, by the person, or left open where that is safe. */
async function settled(table: Table, options: InitOptions, prompts: Prompts | null): Promise<Proposal> {
  const presets = await readPresets()
  if (options.preset !== undefined && !presets.has(options.preset))
    throw new Failure('usage', `unknown preset "${options.preset}"; there are ${[...presets.keys()].join(', ')}`)
  let answers = answersOf(table, options)
  for (;;) {
    const proposal = propose(table, presets, answers)
    const [question] = proposal.questions.filter((one) => prompts !== null || stopsPlans(one))
    if (question === undefined) return proposal
    if (prompts === null) throw unanswered(question)
    answers = merged(answers, await answerTo(question, prompts))
  }
}

function unanswered(question: Question): Failure {
  if (question.about === 'dateFormat')
    return new Failure(
      'usage',
      `the dates in ${question.columns.join(' and ')} can be read as ${question.choices.join(' or ')}, and none of them decides: say --date-format '${question.choices[0]}'`,
    )
  const choices = 'choices' in question ? question.choices : []
  const first = choices[0] ?? 'COLUMN'
  return new Failure(
    'usage',
    `several columns could be the key of a person (${choices.join(', ')}): say which one with --field 'identityId=${first}'`,
  )
}

async function answerTo(question: Question, prompts: Prompts): Promise<Answers> {
  switch (question.about) {
    case 'identityId': {
      const choices = question.choices.map((header) => ({ value: header, label: header }))
      return {
        fields: {
          identityId: await prompts.choose('Which column is the key of a person, which never changes?', choices),
        },
      }
    }
    case 'dateFormat': {
      const choices = question.choices.map((format) => ({ value: format, label: format }))
      return {
        dateFormat: await prompts.choose(`How are the dates in ${question.columns.join(' and ')} written?`, choices),
      }
    }
    case 'status': {
      const choices = [
        { value: 'employed', label: 'employed' },
        { value: 'left', label: 'has left' },
        { value: 'open', label: 'I do not know yet: hold the plan' },
      ] as const
      const what = `What does "${question.value}" in ${question.column} mean (${counted(question.rows, 'row')})?`
      return { statuses: { [question.value]: await prompts.choose(what, choices) } }
    }
    case 'contractor': {
      const choices = [
        { value: 'employee', label: 'an employee' },
        { value: 'contractor', label: 'a contractor' },
        { value: 'open', label: 'I do not know' },
      ] as const
      const what = `Who is "${question.value}" in ${question.column} (${counted(question.rows, 'row')})?`
      const meaning = await prompts.choose(what, choices)
      return { contractors: { [question.value]: meaning === 'open' ? null : meaning === 'contractor' } }
    }
    default:
      return question satisfies never
  }
}

function merged(answers: Answers, more: Answers): Answers {
  return {
    ...answers,
    ...more,
    fields: { ...answers.fields, ...more.fields },
    statuses: { ...answers.statuses, ...more.statuses },
    contractors: { ...answers.contractors, ...more.contractors },
  }
}

function answersOf(table: Table, { preset, dateFormat, field, left, employed }: InitOptions): Answers {
  const fields = field.map((text): [MappedField, string | null] => {
    const [, name = '', column = ''] = /^([^=]+)=(.*)$/s.exec(text) ?? []
    const known = mappedFields.find((one) => one === name.trim())
    if (known === undefined)
      throw new Failure('usage', `--field takes FIELD=COLUMN, with one of ${mappedFields.join(', ')}; not "${text}"`)
    if (column !== '' && !table.headers.includes(column))
      throw new Failure('usage', `the export has no column "${column}"; it has ${table.headers.join(', ')}`)
    return [known, column === '' ? null : column]
  })
  return {
    preset,
    dateFormat,
    fields: Object.fromEntries(fields),
    statuses: Object.fromEntries([
      ...left.map((value) => [value, 'left'] as const),
      ...employed.map((value) => [value, 'employed'] as const),
    ]),
  }
}

type PlatformPlace = { readonly region: keyof typeof regions } | { readonly baseUrl: string }

async function platformOf({ platformUrl, region }: InitOptions, prompts: Prompts | null): Promise<PlatformPlace> {
  if (platformUrl !== undefined && region !== undefined)
    throw new Failure('usage', 'name either --region or --platform-url, not both')
  if (platformUrl !== undefined) return { baseUrl: platformUrl }
  const named =
    region ?? (await prompts?.choose('In which region is the account of the platform?', regionChoices)) ?? 'default'
  if (named === 'own')
    return { baseUrl: (await prompts?.text('What is its address?', regions.default)) ?? regions.default }
  if (named === 'default' || named === 'eu' || named === 'apac') return { region: named }
  throw new Failure('usage', `there is no region "${named}"; there are ${Object.keys(regions).join(', ')}`)
}

const regionChoices = [
  { value: 'default', label: 'default (North America)' },
  { value: 'eu', label: 'eu' },
  { value: 'apac', label: 'apac' },
  { value: 'own', label: 'a platform of your own, by its address' },
] as const

async function keyIn(file: string): Promise<string> {
  try {
    const key = (await readFile(file, 'utf8')).trim()
    if (key !== '') return key
    throw new Failure('config_invalid', `${file} is empty: write the platform's API key into it`)
  } catch (error) {
    if (error instanceof Failure) throw error
    throw new Failure(
      'config_invalid',
      `cannot read the file ${file} (${errorCode(error)}): write the platform's API key into it`,
      {
        cause: error,
      },
    )
  }
}

async function timeZoneOf(proposal: Proposal, { timeZone }: InitOptions, prompts: Prompts | null): Promise<string> {
  const usual = proposal.timeZone?.name ?? Temporal.Now.timeZoneId()
  const named = timeZone ?? (await prompts?.text('In which time zone are the dates of the export?', usual)) ?? usual
  return timeZoneNamed(named)
}

type Try = { readonly platform: PlatformPlace; readonly key: string; readonly signal: AbortSignal }

/** What the key may do. Trouble with it is told, and does not keep the configuration from being written. */
async function tryKey({ platform, key, signal }: Try): Promise<Pick<Written, 'permissions' | 'trouble'>> {
  const baseUrl = ('baseUrl' in platform ? platform.baseUrl : regions[platform.region]).replace(/\/+$/, '')
  if (!URL.canParse(baseUrl)) throw new Failure('usage', `--platform-url takes an address such as ${regions.default}`)
  try {
    const client = createClient(deliveryOperations, { baseUrl, bearer: key, timeoutMs: 10_000 })
    const permissions = await tryPermissions({ client, baseUrl }, signal)
    const missing = permissions.filter(({ isGranted, isVital }) => isGranted === false && isVital)
    if (missing.length === 0) return { permissions, trouble: null }
    const names = missing.map(({ permissions: any }) => any.join(' or ')).join(', ')
    return { permissions, trouble: { code: 'blocked', message: `the key lacks ${names}` } }
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    return { permissions: null, trouble: { code: error.code, message: error.message } }
  }
}

/** Examples are cells of people: they are shown on a terminal, and to who asks for values. */
function withExamples(proposal: Proposal, mayShow: boolean): Proposal {
  if (mayShow) return proposal
  return { ...proposal, fields: proposal.fields.map((field) => ({ ...field, examples: [] })) }
}

function documentOf({ file, proposal, permissions, trouble }: Written, _options: InitOptions) {
  const { table, mapping: _mapping, ...rest } = proposal
  const { rows, ...form } = table
  return { file, export: { ...form, rows: rows.length }, ...rest, permissions, trouble }
}

function renderWritten({ file, permissions, trouble }: Written, paint: Paint): string {
  const short = relative('.', file)
  const named = short === 'rollcall.yaml' ? '' : ` --config ${shown(short.startsWith('..') ? file : short)}`
  return [
    '',
    ...(permissions === null
      ? []
      : ['What the key may do; nothing was changed to find out:', renderPermissions(permissions, paint), '']),
    ...(trouble === null ? [] : [`${paint('red', '✖')} ${shown(trouble.message)}`]),
    `${paint('green', '✔')} ${shown(file)} is written. Next:`,
    `  rollcall check${named}  tests everything, and changes nothing`,
    `  rollcall plan${named}   shows what a run would do`,
    `  rollcall sync${named}   runs once`,
  ].join('\n')
}
