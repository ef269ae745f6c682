import { userInfo } from 'node:os'
import { Command, InvalidArgumentError, Option } from 'commander'
import { EventState } from '../contract/control/shapes.ts'
import { platformCommands } from '../platform/operators/commands/commands.ts'
import { version } from '../version.ts'
import { check } from './check.ts'
import { approve, cancel, type DecisionOptions, reject } from './decide.ts'
import { type DismissOptions, dismissEvents, type EventsOptions, events, retryEvents } from './events.ts'
import { type PersonOptions, person, type RestoreOptions, type RetractOptions, restore, retract } from './person.ts'
import { type PlanOptions, plan } from './plan.ts'
import { type ListOptions, problems, type RunDetailOptions, run, runs, status } from './reports.ts'
import { serve } from './serve.ts'
import type { CommonOptions } from './session.ts'
import { type SyncOptions, sync } from './sync.ts'
import { type UnblockOptions, unblock } from './unblock.ts'
import { type WebhookTestOptions, webhookTest } from './webhook.ts'

/** What a command resolves to: the exit code of the process. */
type Exit = number

/** The commands of Rollcall. `exit` is told the code that a command ended with; what goes wrong is thrown. */
export function createProgram(exit: (code: Exit) => void): Command {
  const program = new Command('rollcall')
    .description('Keeps the people of a compliance platform in step with HR.')
    .version(version)
    .exitOverride()
    .configureOutput({ outputError: (text, write) => write(text.replace(/^error: /, '✖ ')) })

  function ends<A extends unknown[]>(action: (...args: A) => Promise<Exit>): (...args: A) => Promise<void> {
    return async (...args) => exit(await action(...args))
  }

  add(program, 'demo', 'Show the whole path on this machine: a platform, a company, two nights of HR exports')
    .option('--once', 'leave when it is done (the default where there is no terminal)')
    .option('--json', 'print the summary as one JSON document')
    .action(
      ends(async (options: { once?: boolean; json?: boolean }) => {
        const { demo } = await import('./demo/demo.ts')
        return await demo(options)
      }),
    )

  common(
    add(
      program,
      'check',
      'Test the configuration, the source, the secrets, the store, the queue and the platform; change nothing',
    ),
  )
    .option('--connection <name>', 'test this connection only')
    .action(ends((options: CommonOptions) => check(options)))

  one(common(add(program, 'plan', 'Show what a run would do now, and do nothing')))
    .option('--show-values', 'show personal values, not only the names of their fields')
    .action(ends((options: PlanOptions) => plan(options)))

  waiting(one(common(add(program, 'sync', 'Read the source and deliver every difference')))).action(
    ends((options: SyncOptions) => sync(options)),
  )

  waiting(one(common(add(program, 'resync', 'Run by hand, also what no difference asks for'))))
    .option('--full', 'send everybody again')
    .option('--verify', 'read the list of the platform first and repair every difference')
    .action(ends((options: SyncOptions) => sync(options)))

  configured(add(program, 'serve', 'Run as a daemon: schedules, workers and the control API'))
    .option('--json', 'write the log as JSON lines, also on a terminal')
    .action(ends((options: CommonOptions) => serve(options)))

  common(add(program, 'status', 'Show what runs and how every connection stands')).action(
    ends((options: CommonOptions) => status(options)),
  )

  common(add(program, 'runs', 'List the newest runs'))
    .option('--connection <name>', 'of this connection only')
    .option('--limit <count>', 'how many', wholeNumber, 20)
    .action(ends((options: ListOptions) => runs(options)))

  common(add(program, 'run', 'Show one run with its changes and rejected rows'))
    .argument('<id>', 'the run')
    .option('--show-values', 'show personal values, not only the names of their fields')
    .action(ends((id: string, options: RunDetailOptions) => run(id, options)))

  common(add(program, 'problems', 'List whom the platform refuses, and who cannot be delivered'))
    .option('--connection <name>', 'of this connection only')
    .action(ends((options: ListOptions) => problems(options)))

  waiting(
    deciding(one(common(add(program, 'unblock', 'Try a blocked connection now instead of at its next probe')))),
  ).action(ends((options: UnblockOptions) => unblock(options)))

  common(
    add(program, 'webhook', 'Try a webhook')
      .command('test')
      .description('Sign a sample event and send it to the daemon'),
  )
    .argument('<name>', 'the connection')
    .option('--url <address>', 'where to send it (default: the daemon that runs here)')
    .action(ends((name: string, options: WebhookTestOptions) => webhookTest(name, options)))

  one(common(add(program, 'events', 'List the events that came in by webhook')))
    .addOption(new Option('--state <state>', 'in this state only').choices(EventState.options))
    .action(ends((options: EventsOptions) => events(options)))

  one(common(add(program, 'retry-events', 'Have rejected events read again, as when the mapping was mended')))
    .argument('[ids...]', 'the events; all rejected ones if none is named')
    .action(ends((ids: string[], options: CommonOptions) => retryEvents(ids, options)))

  deciding(one(common(add(program, 'dismiss-events', 'Let rejected events go: nothing follows from them'))))
    .argument('<ids...>', 'the events')
    .action(ends((ids: string[], options: DismissOptions) => dismissEvents(ids, options)))

  waiting(deciding(common(add(program, 'approve', 'Let a held run deliver exactly the plan that it shows'))))
    .argument('<id>', 'the held run')
    .option('--digest <digest>', 'approve only the plan that this digest names')
    .option('--yes', 'approve the plan as it stands, without a question')
    .option('--show-values', 'show personal values in the plan')
    .action(ends((id: string, options: DecisionOptions) => approve(id, options)))

  deciding(common(add(program, 'reject', 'Drop the plan of a held run')))
    .argument('<id>', 'the held run')
    .action(ends((id: string, options: DecisionOptions) => reject(id, options)))

  deciding(common(add(program, 'cancel', 'End a run that waits, is held or delivers')))
    .argument('<id>', 'the run')
    .action(ends((id: string, options: DecisionOptions) => cancel(id, options)))

  one(common(add(program, 'person', 'Show what HR says of a person, what the platform has, and how it came about')))
    .argument('<key>', "the person's identityId")
    .option('--show-values', 'show personal values, not only the names of their fields')
    .action(ends((key: string, options: PersonOptions) => person(key, options)))

  deciding(
    one(common(add(program, 'retract', 'Take back a person who was sent in error; the run is held for an approval'))),
  )
    .argument('<key>', "the person's identityId")
    .requiredOption('--reason <text>', 'why, for the record')
    .action(ends((key: string, options: RetractOptions) => retract(key, options)))

  waiting(deciding(one(common(add(program, 'restore', 'Take a retraction back and send the person again')))))
    .argument('<key>', "the person's identityId")
    .action(ends((key: string, options: RestoreOptions) => restore(key, options)))

  platformCommands(program)
  return program
}

function add(program: Command, name: string, summary: string): Command {
  return program.command(name).description(summary)
}

function configured(command: Command): Command {
  return command.option('--config <file>', 'the configuration (default: config/rollcall.yaml)')
}

function common(command: Command): Command {
  return configured(command).option('--json', 'print one JSON document on stdout and nothing else there')
}

function one(command: Command): Command {
  return command.option('--connection <name>', 'the connection; needed only where the configuration has several')
}

function waiting(command: Command): Command {
  return command.option(
    '--wait <seconds>',
    'how long the platform may take nothing before the command gives up; the run itself stays',
    wholeNumber,
    60,
  )
}

function deciding(command: Command): Command {
  return command.option('--by <name>', 'who decides, for the record (default: the user of this machine)', userName())
}

/** Who uses this machine. In a container that may be a number without a name. */
function userName(): string {
  try {
    return userInfo().username
  } catch {
    return `uid ${process.getuid?.() ?? 'unknown'}`
  }
}

function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError('It must be a whole number above zero.')
  return Number(text)
}
