import type { Argument, Command, Option } from 'commander'

/** What completion may offer beyond the command line itself. It is read only where it fits. */
export type CandidateSources = {
  connections(config: string | undefined): Promise<readonly string[]>
  runs(config: string | undefined): Promise<readonly Candidate[]>
  recipes(): Promise<readonly Candidate[]>
}

/** A word that may be completed here, and its meaning. */
export type Candidate = { readonly word: string; readonly about: string }

/** What may replace the last word: candidates, or the files of the folder. */
export type Candidates = { readonly files: boolean; readonly candidates: readonly Candidate[] }

type Position = {
  readonly command: Command
  /** The number of arguments of the command before the word. */
  readonly argumentCount: number
  /** The option whose value the word is. */
  readonly option: Option | null
  readonly config: string | undefined
}

const filesOnly: Candidates = { files: true, candidates: [] }
const runNames: readonly Candidate[] = [
  { word: 'last', about: 'the newest run' },
  { word: 'last-1', about: 'the run before it' },
  { word: '@held', about: 'the run that is held' },
]

/** What may replace the last of these words, which follow the name of the program. */
export async function candidatesFor(
  program: Command,
  words: readonly string[],
  known: CandidateSources,
): Promise<Candidates> {
  const current = words.at(-1) ?? ''
  const position = positionOf(program, words.slice(0, -1))
  const all = await candidatesAt(position, current, known)
  return { ...all, candidates: all.candidates.filter(({ word }) => word.startsWith(current)) }
}

function positionOf(program: Command, before: readonly string[]): Position {
  let command = program
  let argumentCount = 0
  let option: Option | null = null
  let config: string | undefined
  for (const word of before) {
    if (option !== null) {
      if (option.long === '--config') config = word
      option = null
    } else if (word.startsWith('-')) {
      const [flag = ''] = word.split('=', 1)
      const match = optionsOf(command).find(({ long, short }) => flag === long || flag === short)
      if (match?.long === '--config' && word.includes('=')) config = word.slice(flag.length + 1)
      if (match && takesValue(match) && !word.includes('=')) option = match
    } else {
      const below = argumentCount === 0 ? command.commands.find((one) => one.name() === word) : undefined
      if (below) command = below
      else argumentCount += 1
    }
  }
  return { command, argumentCount, option, config }
}

async function candidatesAt(
  { command, argumentCount, option, config }: Position,
  current: string,
  known: CandidateSources,
): Promise<Candidates> {
  if (option !== null) return await valuesOf(option, config, known)
  if (current.startsWith('-')) return { files: false, candidates: optionsOf(command).flatMap(optionCandidate) }
  const below = argumentCount > 0 ? [] : command.commands.filter((one) => !isHidden(one)).map(commandCandidate)
  const { registeredArguments: all } = command
  const last = all.at(-1)
  const argument = all[argumentCount] ?? (last?.variadic ? last : undefined)
  const values = argument === undefined ? none : await argumentValues(command, argument, config, known)
  return { files: values.files, candidates: [...below, ...values.candidates] }
}

const none: Candidates = { files: false, candidates: [] }

async function valuesOf(option: Option, config: string | undefined, known: CandidateSources): Promise<Candidates> {
  if (option.argChoices) return wordCandidates(option.argChoices)
  if (option.long === '--connection') return wordCandidates(await known.connections(config))
  if (option.long === '--recipe') return { files: false, candidates: await known.recipes() }
  if (option.long === '--run') return { files: false, candidates: [...runNames, ...(await known.runs(config))] }
  return /<(?:file|folder|path)>/.test(option.flags) ? filesOnly : none
}

async function argumentValues(
  command: Command,
  argument: Argument,
  config: string | undefined,
  known: CandidateSources,
): Promise<Candidates> {
  if (argument.argChoices) return wordCandidates(argument.argChoices)
  // Commands below another one, such as `platform keys revoke`, have their own IDs.
  const isRun = argument.name() === 'id' && command.parent?.parent === null
  if (isRun) return { files: false, candidates: [...runNames, ...(await known.runs(config))] }
  if (argument.name() === 'recipe') return { files: false, candidates: await known.recipes() }
  if (argument.name() === 'connection' || command.parent?.name() === 'webhook')
    return wordCandidates(await known.connections(config))
  return /^(?:file|folder|path)$/.test(argument.name()) ? filesOnly : none
}

function wordCandidates(values: readonly string[]): Candidates {
  return { files: false, candidates: values.map((word) => ({ word, about: '' })) }
}

/** The options of a command, and those of the commands above it. */
function optionsOf(command: Command): Option[] {
  const above = command.parent ? optionsOf(command.parent) : []
  const own = command.options.filter(({ hidden }) => !hidden)
  return [...own, ...above.filter(({ long }) => long !== '--version' && !own.some((one) => one.long === long))]
}

function takesValue(option: Option): boolean {
  return option.required || option.optional
}

function optionCandidate({ long, description }: Option): Candidate[] {
  return long ? [{ word: long, about: description }] : []
}

function commandCandidate(command: Command): Candidate {
  return { word: command.name(), about: command.description() }
}

function isHidden(command: Command): boolean {
  return '_hidden' in command && command._hidden === true
}
