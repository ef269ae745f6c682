import { type Command, Option } from 'commander'
import type { ClassifiedValue, EventState } from '../../contract/control/shapes.ts'
import type { AcceptStatusOptions } from '../commands/accept-status.ts'
import type { AliasOptions } from '../commands/alias.ts'
import type { DismissOptions } from '../commands/dismiss-events.ts'
import type { EventsOptions } from '../commands/events.ts'
import type { RetryOptions } from '../commands/retry-events.ts'
import { addCommand, byOption, commonOptions, connectionOption, type Definition, type ExitWith } from './define.ts'

/** The commands that say what HR's statuses, keys and events mean. */
export const hrDataCommands: readonly Definition[] = [
  acceptStatusCommand,
  aliasCommand,
  eventsCommand,
  retryEventsCommand,
  dismissEventsCommand,
]

// The schemas know these values too, but loading them takes as long as everything else that is loaded for the help.
const eventStates: Readonly<Record<EventState, true>> = {
  pending: true,
  held: true,
  settled: true,
  rejected: true,
  dismissed: true,
  test: true,
}

const valueMeanings: Readonly<Record<ClassifiedValue['as'], true>> = {
  employed: true,
  left: true,
  contractor: true,
  employee: true,
}

const decisionOptions = [commonOptions, connectionOption, byOption]

function acceptStatusCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'accept-status',
    'Say what an unknown status means, or list the answers so far',
    ...decisionOptions,
  )
    .argument('[value]', 'the status, or the value of the contractor column, as the export has it')
    .addOption(new Option('--as <meaning>', 'what it means').choices(Object.keys(valueMeanings)))
    .action(
      exitWith(async (value: string | undefined, options: AcceptStatusOptions) =>
        (await import('../commands/accept-status.ts')).acceptStatus(value, options),
      ),
    )
}

function aliasCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'alias',
    'Say that HR uses a new key for a person, or list keys that may have changed',
    ...decisionOptions,
  )
    .argument('[oldKey]', 'the old key, under which the platform has the person')
    .argument('[newKey]', 'the new key, which HR uses now')
    .option('--two-people', 'the two keys are two people')
    .option('--undo', 'withdraw the answer about the two keys')
    .option('--run <id>', 'with --all: the held run with the pairs, such as @held')
    .option('--all', 'answer for all pairs of the run; ambiguous pairs only with --two-people')
    .action(
      exitWith(async (former: string | undefined, key: string | undefined, options: AliasOptions) =>
        (await import('../commands/alias.ts')).alias(former, key, options),
      ),
    )
}

function eventsCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'events', 'List the events received by webhook or SCIM', commonOptions, connectionOption)
    .addOption(new Option('--state <state>', 'only events in this state').choices(Object.keys(eventStates)))
    .action(exitWith(async (options: EventsOptions) => (await import('../commands/events.ts')).events(options)))
}

function retryEventsCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'retry-events',
    'Read rejected events again, for example after the mapping was fixed',
    ...decisionOptions,
  )
    .argument('[ids...]', 'the events (default: all rejected ones)')
    .action(
      exitWith(async (ids: string[], options: RetryOptions) =>
        (await import('../commands/retry-events.ts')).retryEvents(ids, options),
      ),
    )
}

function dismissEventsCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'dismiss-events', 'Dismiss rejected events: they will have no effect', ...decisionOptions)
    .argument('<ids...>', 'the events')
    .action(
      exitWith(async (ids: string[], options: DismissOptions) =>
        (await import('../commands/dismiss-events.ts')).dismissEvents(ids, options),
      ),
    )
}
