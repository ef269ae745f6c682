import { type Command, InvalidArgumentError, Option } from 'commander'
import { userName } from '../../daemon/user-name.ts'
import { isTimeZone, useTimeZone } from '../../text/time.ts'

/** Turns a command, which resolves to an exit code, into an action of Commander that reports this code. */
export type ExitWith = <A extends unknown[]>(action: (...args: A) => Promise<number>) => (...args: A) => Promise<void>

/** Adds one command, or a command with subcommands. The code of the command is loaded when it runs. */
export type Definition = (program: Command, exitWith: ExitWith) => void

/** Adds options that several commands share. */
type SharedOptions = (command: Command) => Command

/** The file of the configuration, for the program and for each command. */
export const configDescription =
  'the configuration (default: ROLLCALL_CONFIG, else rollcall.yaml, config/rollcall.yaml or /etc/rollcall/rollcall.yaml)'
/** The argument or option that names a connection. */
export const connectionHelp = 'the connection; only needed if the configuration has several'
/** The argument that names a person. */
export const personHelp = 'the person: the key, the whole e-mail address or the name'
/** The option --show-values of commands that may have to ask which person is meant. */
export const candidatesHelp = 'on a terminal, show names if several people match'
/** The argument that names a run. */
export const runHelp = 'the run: its ID or the beginning of it, last, last-1 and so on, or @held for the held one'

/** Adds a subcommand. The help lists the shared options in the order in which they are given here. */
export function addCommand(
  parent: Command,
  name: string,
  summary: string,
  ...shared: readonly SharedOptions[]
): Command {
  const command = parent.command(name).description(summary)
  for (const addOptions of shared) addOptions(command)
  return command
}

/** For every command that reads the configuration. */
export function configOptions(command: Command): Command {
  return command
    .option('--config <file>', configDescription)
    .option('--verbose', 'show which configuration is used, and why')
}

/** Adds the options of every command that reads the configuration and can print JSON. */
export function commonOptions(command: Command): Command {
  return configOptions(command)
    .option('--json', 'print only one JSON document on stdout')
    .option('--time-zone <zone>', 'zone of the times that are printed (default: that of this machine)', useDisplayZone)
}

/** Checks the zone and makes it that of all times this process prints. */
function useDisplayZone(name: string): string {
  if (!isTimeZone(name)) throw new InvalidArgumentError('It must be a time zone, such as Europe/Berlin or UTC.')
  useTimeZone(name)
  return name
}

/** Adds the option of a command about one connection. */
export function connectionOption(command: Command): Command {
  return command.option('--connection <name>', connectionHelp)
}

/** Adds the option of a command that waits for the platform. */
export function waitOption(command: Command): Command {
  return command.option(
    '--wait <seconds>',
    'stop waiting after this many seconds without progress; the work continues in the background',
    wholeNumber,
    60,
  )
}

/** Adds the option of a command whose exit code can report people who were not delivered. */
export function strictOption(command: Command): Command {
  return command.option(
    '--strict',
    'also exit with 70 if a connection is blocked, the outcome of a request is unknown, or rows or events are unreadable or contradictory',
  )
}

/** Adds the options of a command that decides about a held run. */
export function heldRunOptions(command: Command): Command {
  return command
    .option('--reason <text>', 'the reason, recorded in the audit trail')
    .option('--connection <name>', 'refuse a run of another connection')
}

/** Adds the option of a command that is recorded in the audit trail. */
export function byOption(command: Command): Command {
  return command.addOption(
    new Option('--by <name>', 'your name for the audit trail').default(userName(), 'the user of this machine'),
  )
}

/** Collects the values of an option that can be repeated. */
export function collectValues(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

/** Reads a port. 0 stands for any free port. */
export function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port, such as 8686.')
  return Number(text)
}

/** Reads a count of one or more. */
export function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError('It must be a whole number above zero.')
  return Number(text)
}
