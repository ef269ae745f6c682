import { Argument, Command, InvalidArgumentError, Option } from 'commander'
import type { Role } from '../contract/control/access.ts'
import type { ClassedValue, EventState } from '../contract/control/shapes.ts'
import { userName } from '../daemon/user-name.ts'
import { standardError, standardOutput } from '../text/print.ts'
import { version } from '../version.ts'
import type { AcceptStatusOptions } from './commands/accept-status.ts'
import type { AcceptStoreOptions } from './commands/accept-store.ts'
import type { AlertsTestOptions } from './commands/alerts.ts'
import type { AliasOptions } from './commands/alias.ts'
import type { ApproveOptions } from './commands/approve.ts'
import type { AuditExportOptions, AuditNewKeyOptions, AuditVerifyOptions } from './commands/audit.ts'
import type { BackupOptions } from './commands/backup.ts'
import type { CancelOptions } from './commands/cancel.ts'
import type { CheckOptions } from './commands/check.ts'
import type { DismissOptions } from './commands/dismiss-events.ts'
import type { EventsOptions } from './commands/events.ts'
import type { ForgetOptions } from './commands/forget.ts'
import type { HoldBackOptions } from './commands/hold-back.ts'
import type { InitOptions } from './commands/init.ts'
import type { MoveOptions } from './commands/move.ts'
import type { PauseOptions, ResumeOptions } from './commands/pause.ts'
import type { PersonOptions } from './commands/person.ts'
import type { PlanOptions } from './commands/plan.ts'
import type { ProblemsOptions } from './commands/problems.ts'
import type { RejectOptions } from './commands/reject.ts'
import type { ReportFormat, ReportLeaversOptions } from './commands/report-leavers.ts'
import type { RestoreOptions } from './commands/restore.ts'
import type { RetractOptions } from './commands/retract.ts'
import type { RetryOptions } from './commands/retry-events.ts'
import type { RevertOptions } from './commands/revert.ts'
import type { RunDetailOptions } from './commands/run.ts'
import type { RunsOptions } from './commands/runs.ts'
import type { SeparateOptions } from './commands/separate.ts'
import type { ServeOptions } from './commands/serve.ts'
import type { StatusOptions } from './commands/status.ts'
import type { SyncOptions } from './commands/sync.ts'
import type { TokenCreateOptions, TokenRevokeOptions } from './commands/token.ts'
import type { UnblockOptions } from './commands/unblock.ts'
import type { WebhookTestOptions } from './commands/webhook-test.ts'
import { type Shell, shells } from './completion/scripts.ts'
import { withExamples } from './examples.ts'
import type { CommonOptions } from './session/session.ts'

/** What a command resolves to: the exit code of the process. */
type Exit = number

// The schema knows them too, but loading it takes as long as everything else here.
const eventStates: Readonly<Record<EventState, true>> = {
  pending: true,
  held: true,
  settled: true,
  rejected: true,
  dismissed: true,
  test: true,
}

const roles: Readonly<Record<Role, true>> = { viewer: true, operator: true, approver: true, admin: true }

const reportFormats: Readonly<Record<ReportFormat, true>> = { csv: true, json: true, html: true }

const valueMeanings: Readonly<Record<ClassedValue['as'], true>> = {
  employed: true,
  left: true,
  contractor: true,
  employee: true,
}

const configDescription =
  'the configuration (default: ROLLCALL_CONFIG, else rollcall.yaml, config/rollcall.yaml or /etc/rollcall/rollcall.yaml)'
const personHelp = 'the person: the key, the whole e-mail address or the name'
const candidatesHelp = 'show names where several people can be meant, on a terminal'
const runHelp = 'the run: its id or the first signs of it, last, last-1 and so on, or @held for the one that is held'

/** The commands of Rollcall; each loads what it uses when it runs. `exit` is told the code that a command ended with; what goes wrong is thrown. */
export function createProgram(exit: (code: Exit) => void): Command {
  const program: Command = new Command('rollcall')
    .description('Keeps the people of a compliance platform in step with HR.')
    .version(version)
    .option('--config <file>', configDescription)
    .hook('preAction', (_program, command) => passConfig(program, command))
    .exitOverride()
    .configureOutput({
      writeOut: standardOutput.print,
      writeErr: standardError.print,
      outputError: (text, write) => write(text.replace(/^error: /, '✖ ')),
    })

  function ends<A extends unknown[]>(action: (...args: A) => Promise<Exit>): (...args: A) => Promise<void> {
    return async (...args) => exit(await action(...args))
  }

  add(program, 'demo', 'Show the whole path on this machine: a platform, a company, two nights of HR exports')
    .option('--once', 'leave when it is done (the default where there is no terminal)')
    .option('--json', 'print the summary as one JSON document')
    .action(ends(async (options: { once?: boolean; json?: boolean }) => (await import('./demo/demo.ts')).demo(options)))

  add(program, 'init', 'Look at an export and write a configuration for it')
    .option('--source <place>', 'the export: a file, a folder, sftp://USER@HOST/PATH or https://…')
    .option('--secret-file <file>', 'the password or private key of an SFTP account, or a bearer token')
    .option('--host-key <fingerprint>', 'of the SFTP server, as ssh-keyscan HOST | ssh-keygen -lf - prints it')
    .option('--region <region>', 'of the platform: default, eu or apac')
    .option('--platform-url <address>', 'a platform of your own, instead of a region')
    .option('--key-file <file>', "the file of the platform's API key")
    .option('--name <name>', 'of the connection (default: HR)')
    .option('--time-zone <zone>', 'of the dates in the export (default: what it says, else that of this machine)')
    .option('--preset <name>', 'instead of the one that fits best')
    .option('--field <field=column>', 'the column of a field, or none; can be repeated', several)
    .option('--date-format <format>', 'where the dates of the export do not decide it, such as dd/MM/yyyy')
    .option('--left <status>', 'a status that means left; can be repeated', several)
    .option('--employed <status>', 'a status that means employed; can be repeated', several)
    .option('--encoding <name>', 'instead of the one that is detected')
    .option('--delimiter <sign>', 'instead of the one that is detected')
    .option('--header-line <line>', 'the line that names the columns', wholeNumber)
    .option('--out <file>', 'the configuration that is written', 'rollcall.yaml')
    .option('--replace', 'also over a file that is there')
    .option('--yes', 'ask nothing, and take what is proposed')
    .option('--show-values', 'with --json: examples of the cells as well')
    .option('--json', 'ask nothing, and print one JSON document on stdout')
    .action(
      ends(async (options: Omit<InitOptions, keyof typeof noneNamed> & Partial<InitOptions>) =>
        (await import('./commands/init.ts')).init({ ...noneNamed, ...options }),
      ),
    )

  common(
    add(
      program,
      'check',
      'Test the configuration, the source, the secrets, the store, the queue and the platform; change nothing',
    ),
  )
    .option('--connection <name>', 'test this connection only')
    .option('--probe', 'also try on the platform, with an invented person, that it does what Rollcall assumes')
    .option('--yes', 'with --probe: change the platform without a question')
    .action(ends(async (options: CheckOptions) => (await import('./commands/check.ts')).check(options)))

  one(common(add(program, 'plan', 'Show what a run would do now, and do nothing')))
    .option('--person <key>', 'only what would become of this person, by key, e-mail address or name, and why')
    .option('--show-values', 'show personal values, not only the names of their fields')
    .option('--out <file>', 'keep the plan in a file instead, for "sync --plan"')
    .action(ends(async (options: PlanOptions) => (await import('./commands/plan.ts')).plan(options)))

  strict(waiting(deciding(one(common(add(program, 'sync', 'Read the source and deliver every difference'))))))
    .option(
      '--person <key>',
      'deliver this person alone, by key, e-mail address or name, and show row, decision and answer',
    )
    .option('--show-values', 'show personal values of that person, not only the names of their fields')
    .option('--plan <file>', 'deliver exactly the plan that "plan --out" has kept, or nothing')
    .action(ends(async (options: SyncOptions) => (await import('./commands/sync.ts')).sync(options)))

  strict(waiting(deciding(one(common(add(program, 'resync', 'Run by hand, also what no difference asks for'))))))
    .option('--full', 'send everybody again')
    .option('--verify', 'read the list of the platform first and repair every difference')
    .action(ends(async (options: SyncOptions) => (await import('./commands/sync.ts')).sync(options)))

  configured(add(program, 'serve', 'Run as a daemon: schedules, workers and the control API'))
    .option('--json', 'write the log as JSON lines, also on a terminal')
    .option('--roles <list>', 'what this process does (default: api,scheduler,worker)')
    .option('--port <number>', 'listen on this port instead of server.port; 0 means any free one', portNumber)
    .action(ends(async (options: ServeOptions) => (await import('./commands/serve.ts')).serve(options)))

  common(add(program, 'status', 'Show what runs and how every connection stands'))
    .option('--watch', 'keep showing it until q or Ctrl-C; elsewhere than on a terminal, print what changes')
    .action(ends(async (options: StatusOptions) => (await import('./commands/status.ts')).status(options)))

  const alerts = common(add(program, 'alerts', 'List what needs attention, and what was sent where about it')).action(
    ends(async (options: CommonOptions) => (await import('./commands/alerts.ts')).alerts(options)),
  )
  common(alerts.command('test').description('Send a test message through each channel now'))
    .option('--channel <name>', 'through this channel only')
    .action(
      // What both commands know, such as --config, is read by the one above.
      ends(async (_options: AlertsTestOptions, command: Command) =>
        (await import('./commands/alerts.ts')).alertsTest(command.optsWithGlobals<AlertsTestOptions>()),
      ),
    )

  common(add(program, 'runs', 'List the newest runs'))
    .option('--connection <name>', 'of this connection only')
    .option('--limit <count>', 'how many', wholeNumber, 20)
    .option('--follow', 'keep showing them until q or Ctrl-C; elsewhere than on a terminal, print what changes')
    .action(ends(async (options: RunsOptions) => (await import('./commands/runs.ts')).runs(options)))

  common(add(program, 'run', 'Show one run with its changes and rejected rows'))
    .argument('<id>', runHelp)
    .option('--show-values', 'show personal values, not only the names of their fields')
    .option('--follow', 'stay until the run has come to rest; the exit code then says how it ended')
    .action(ends(async (id: string, options: RunDetailOptions) => (await import('./commands/run.ts')).run(id, options)))

  common(add(program, 'problems', 'List the people that the platform refuses or who cannot be delivered'))
    .option('--connection <name>', 'of this connection only')
    .option('--show-values', 'with names; otherwise keys only')
    .action(ends(async (options: ProblemsOptions) => (await import('./commands/problems.ts')).problems(options)))

  waiting(
    deciding(one(common(add(program, 'unblock', 'Try a blocked connection now instead of at its next probe')))),
  ).action(ends(async (options: UnblockOptions) => (await import('./commands/unblock.ts')).unblock(options)))

  deciding(
    one(
      common(add(program, 'pause', 'Keep a connection from taking in anything new by itself; people still can run it')),
    ),
  )
    .argument('[connection]', 'the connection; needed only where the configuration has several')
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--until <time>', 'when it ends by itself: a day, or a time such as 2026-12-31T06:00')
    .action(
      ends(async (connection: string | undefined, options: PauseOptions) =>
        (await import('./commands/pause.ts')).pause(connection, options),
      ),
    )

  deciding(one(common(add(program, 'resume', 'End a pause; what was missed meanwhile is made up for'))))
    .argument('[connection]', 'the connection; needed only where the configuration has several')
    .action(
      ends(async (connection: string | undefined, options: ResumeOptions) =>
        (await import('./commands/pause.ts')).resume(connection, options),
      ),
    )

  common(
    add(program, 'webhook', 'Try a webhook')
      .command('test')
      .description('Sign a sample event and send it to the daemon'),
  )
    .argument('<name>', 'the connection')
    .option('--url <address>', 'where to send it (default: the daemon that runs here)')
    .action(
      ends(async (name: string, options: WebhookTestOptions) =>
        (await import('./commands/webhook-test.ts')).webhookTest(name, options),
      ),
    )

  deciding(
    one(common(add(program, 'accept-status', 'Say what a status means that no list holds, or list what was said'))),
  )
    .argument('[value]', 'the status, or the value of the contractor column, as the export has it')
    .addOption(new Option('--as <meaning>', 'what it means').choices(Object.keys(valueMeanings)))
    .action(
      ends(async (value: string | undefined, options: AcceptStatusOptions) =>
        (await import('./commands/accept-status.ts')).acceptStatus(value, options),
      ),
    )

  deciding(
    one(common(add(program, 'alias', 'Say that HR uses a new key for a person, or list the keys that look like that'))),
  )
    .argument('[former]', 'the key under which the platform has the person')
    .argument('[key]', 'the key that HR uses now')
    .option('--two-people', 'the two keys name two people')
    .option('--undo', 'take back what was said of the two keys')
    .option('--run <id>', 'the held run whose pairs are meant, as @held; with --all')
    .option('--all', 'all pairs of the run that are clear')
    .action(
      ends(async (former: string | undefined, key: string | undefined, options: AliasOptions) =>
        (await import('./commands/alias.ts')).alias(former, key, options),
      ),
    )

  one(common(add(program, 'events', 'List the events that came in by webhook')))
    .addOption(new Option('--state <state>', 'in this state only').choices(Object.keys(eventStates)))
    .action(ends(async (options: EventsOptions) => (await import('./commands/events.ts')).events(options)))

  deciding(one(common(add(program, 'retry-events', 'Have rejected events read again, as when the mapping was mended'))))
    .argument('[ids...]', 'the events; all rejected ones if none is named')
    .action(
      ends(async (ids: string[], options: RetryOptions) =>
        (await import('./commands/retry-events.ts')).retryEvents(ids, options),
      ),
    )

  deciding(one(common(add(program, 'dismiss-events', 'Let rejected events go: nothing follows from them'))))
    .argument('<ids...>', 'the events')
    .action(
      ends(async (ids: string[], options: DismissOptions) =>
        (await import('./commands/dismiss-events.ts')).dismissEvents(ids, options),
      ),
    )

  waiting(deciding(judging(add(program, 'approve', 'Let a held run deliver exactly the plan that it shows'))))
    .argument('<id>', runHelp)
    .option('--digest <digest>', 'approve only the plan that this digest names')
    .option('--yes', 'approve the plan as it stands, without a question')
    .option('--show-values', 'show personal values in the plan')
    .action(
      ends(async (id: string, options: ApproveOptions) => (await import('./commands/approve.ts')).approve(id, options)),
    )

  deciding(judging(add(program, 'reject', 'Drop the plan of a held run')))
    .argument('<id>', runHelp)
    .action(
      ends(async (id: string, options: RejectOptions) => (await import('./commands/reject.ts')).reject(id, options)),
    )

  deciding(common(add(program, 'cancel', 'End a run that waits, is held or delivers')))
    .argument('<id>', runHelp)
    .action(
      ends(async (id: string, options: CancelOptions) => (await import('./commands/cancel.ts')).cancel(id, options)),
    )

  waiting(deciding(common(add(program, 'revert', 'Take back what a run did; guarded like every other run'))))
    .argument('<id>', runHelp)
    .requiredOption('--reason <text>', 'why, for the record')
    .action(
      ends(async (id: string, options: RevertOptions) => (await import('./commands/revert.ts')).revert(id, options)),
    )

  one(common(add(program, 'person', 'Show what HR says of a person, what the platform has, and how it came about')))
    .argument('<key>', personHelp)
    .option('--show-values', 'show personal values, not only the names of their fields')
    .action(
      ends(async (key: string, options: PersonOptions) => (await import('./commands/person.ts')).person(key, options)),
    )

  common(
    add(program, 'report', 'Report on what was done')
      .command('leavers')
      .description('Report on the departures of a period: when each was stated, seen, acknowledged and effective'),
  )
    .option('--from <day>', 'the first last day of employment of the period (default: ninety days before its end)')
    .option('--to <day>', 'the last one (default: today)')
    .option('--connection <name>', 'of this connection only')
    .addOption(new Option('--format <format>', 'the whole report in this format').choices(Object.keys(reportFormats)))
    .option('--out <file>', 'write it into this file, whose ending names the format')
    .option(
      '--pack <file>',
      'write a zip with the report, the acts of the audit trail and the signature that proves them',
    )
    .option('--show-values', 'with names and e-mails; otherwise keys and dates only')
    .action(
      ends(async (options: ReportLeaversOptions) =>
        (await import('./commands/report-leavers.ts')).reportLeavers(options),
      ),
    )

  waiting(
    deciding(
      one(common(add(program, 'retract', 'Take back a person who was sent in error; the run is held for an approval'))),
    ),
  )
    .argument('<key>', personHelp)
    .option('--reason <text>', 'why, for the record')
    .option('--undo', 'take the retraction back and send the person again')
    .option('--show-values', candidatesHelp)
    .action(
      ends(async (key: string, options: RetractOptions) =>
        (await import('./commands/retract.ts')).retract(key, options),
      ),
    )

  waiting(
    deciding(
      one(
        common(
          add(program, 'separate', 'Separate people whom only the platform knows; the run is held for an approval'),
        ),
      ),
    ),
  )
    .argument('<keys...>', 'their keys, as "rollcall problems" lists them')
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--on <day>', 'their last day, such as 2026-10-31 (default: today)')
    .action(
      ends(async (keys: string[], options: SeparateOptions) =>
        (await import('./commands/separate.ts')).separate(keys, options),
      ),
    )

  waiting(
    deciding(
      one(common(add(program, 'hold-back', 'Keep a person whom HR lists as left by mistake, or list these people'))),
    ),
  )
    .argument('[key]', personHelp)
    .option('--until <day>', 'the day on which what HR says counts again, such as 2026-12-31')
    .option('--reason <text>', 'why, for the record')
    .option('--end', 'let what HR says count now')
    .option('--show-values', candidatesHelp)
    .action(
      ends(async (key: string | undefined, options: HoldBackOptions) =>
        (await import('./commands/hold-back.ts')).holdBack(key, options),
      ),
    )

  deciding(
    one(
      common(
        add(program, 'forget', 'Remove the values of a person who has left; the key and the date of leaving stay'),
      ),
    ),
  )
    .argument('<key>', personHelp)
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--show-values', candidatesHelp)
    .action(
      ends(async (key: string, options: ForgetOptions) => (await import('./commands/forget.ts')).forget(key, options)),
    )

  deciding(common(add(program, 'backup', 'Write everything that the store holds into a file, while the daemon works')))
    .argument('<file>', 'a file that is not there yet')
    .action(
      ends(async (file: string, options: BackupOptions) =>
        (await import('./commands/backup.ts')).backup(file, options),
      ),
    )

  deciding(common(add(program, 'restore', 'Put the store back from a backup; a daemon that runs starts again')))
    .argument('<file>', 'what "backup" wrote')
    .requiredOption('--reason <text>', 'why, for the record')
    .option('--replace', 'also replace a store that knows people; one that cannot be opened is put aside')
    .action(
      ends(async (file: string, options: RestoreOptions) =>
        (await import('./commands/restore.ts')).restore(file, options),
      ),
    )

  deciding(
    common(add(program, 'move', 'Carry the embedded store to PostgreSQL, with history and all that was acknowledged')),
  )
    .requiredOption('--to <address>', `an empty database, such as '\${env:DATABASE_URL}' or '\${file:PATH}'`)
    .action(ends(async (options: MoveOptions) => (await import('./commands/move.ts')).move(options)))

  deciding(
    common(add(program, 'accept-store', 'Say that the store which is there counts, where another one was known')),
  )
    .requiredOption('--reason <text>', 'why, for the record')
    .action(
      ends(async (options: AcceptStoreOptions) => (await import('./commands/accept-store.ts')).acceptStore(options)),
    )

  const audit = add(program, 'audit', 'The record of everything: verify it, hand it out, replace its key')
  common(add(audit, 'verify', 'Go over the whole audit trail and name the first entry that is wrong'))
    .option('--public-key <file>', 'verify with this public key (PEM) instead of that of the installation')
    .action(ends(async (options: AuditVerifyOptions) => (await import('./commands/audit.ts')).auditVerify(options)))

  configured(add(audit, 'export', 'Print acts with what proves them, as lines of JSON'))
    .option('--from <time>', 'acts from this time or day on')
    .option('--to <time>', 'acts before this time or day')
    .option('--connection <name>', 'of this connection only')
    .option('--run <id>', 'of this run only, such as last')
    .option('--person <key>', 'about this person only, by key, e-mail address or name')
    .action(ends(async (options: AuditExportOptions) => (await import('./commands/audit.ts')).auditExport(options)))

  deciding(common(add(audit, 'new-key', 'Let a new key sign from now on, as when the old one was lost or seen')))
    .requiredOption('--reason <text>', 'why, for the record')
    .action(ends(async (options: AuditNewKeyOptions) => (await import('./commands/audit.ts')).auditNewKey(options)))

  const token = add(program, 'token', 'The tokens by which people and programs are let in: make, list, revoke')
  deciding(common(add(token, 'create', 'Make a token and show it, this once')))
    .requiredOption('--name <name>', 'whose it is, for the record')
    .addOption(
      new Option('--role <role>', 'what its holder may do; each role may do what those before it may')
        .choices(Object.keys(roles))
        .makeOptionMandatory(),
    )
    .option('--expires <when>', 'when it ends, such as 90d, 12h or 2027-01-31 (default: never)')
    .action(ends(async (options: TokenCreateOptions) => (await import('./commands/token.ts')).tokenCreate(options)))

  common(add(token, 'list', 'List the tokens with their roles, ends and last uses')).action(
    ends(async (options: CommonOptions) => (await import('./commands/token.ts')).tokenList(options)),
  )

  deciding(common(add(token, 'revoke', 'End a token now, and every sign-in that was begun with it')))
    .argument('<name>', 'the name of the token')
    .action(
      ends(async (name: string, options: TokenRevokeOptions) =>
        (await import('./commands/token.ts')).tokenRevoke(name, options),
      ),
    )

  common(add(program, 'doctor', 'Write one file for somebody who helps, with no values of people and no secrets'))
    .argument('[file]', 'a zip file that is not there yet (default: rollcall-doctor-TIME.zip)')
    .action(
      ends(async (file: string | undefined, options: CommonOptions) =>
        (await import('./commands/doctor.ts')).doctor(file, options),
      ),
    )

  program
    .command('completion')
    .description('Print what bash, zsh or fish reads to complete commands, options, connections and runs')
    .addArgument(new Argument('<shell>', 'whose script is printed').choices(shells))
    .action(ends(async (shell: Shell) => (await import('./commands/completion.ts')).completion(shell)))

  // What the scripts of the shells call.
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(
      ends(async (words: string[]) => {
        if (words.includes('platform')) await addPlatformCommands(program)
        return (await import('./commands/completion.ts')).complete(program, words)
      }),
    )

  program.command('platform').description('Run and operate the compliance platform on this machine')
  return withExamples(program)
}

/** Adds what stands below `platform`, which takes a while to load. */
export async function addPlatformCommands(program: Command): Promise<void> {
  const { platformCommands } = await import('../platform/operators/commands/commands.ts')
  for (const command of program.commands) if (command.name() === 'platform') platformCommands(command)
}

function add(program: Command, name: string, summary: string): Command {
  return program.command(name).description(summary)
}

function configured(command: Command): Command {
  return command
    .option('--config <file>', configDescription)
    .option('--verbose', 'say which configuration is used, and what named it')
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

function strict(command: Command): Command {
  return command.option(
    '--strict',
    'end with 70 also if people are blocked, in doubt or have rows or events that cannot be read, or rows that contradict themselves',
  )
}

/** Of a command that decides about a run that it names. */
function judging(command: Command): Command {
  return common(command)
    .option('--reason <text>', 'why, for the record')
    .option('--connection <name>', 'refuse a run of another connection')
}

function deciding(command: Command): Command {
  return command.addOption(
    new Option('--by <name>', 'who asks or decides, for the record').default(userName(), 'the user of this machine'),
  )
}

/** --config may stand before the command as well, where a hint has it. */
function passConfig(program: Command, command: Command): void {
  const { config } = program.opts<CommonOptions>()
  if (config === undefined) return
  if (!command.options.some(({ long }) => long === '--config')) command.error("error: unknown option '--config'")
  command.setOptionValue('config', config)
}

/** What can be repeated, if it is left out. As defaults of the options, the help would show them. */
const noneNamed: Readonly<Record<'field' | 'left' | 'employed', readonly string[]>> = {
  field: [],
  left: [],
  employed: [],
}

function several(text: string, before: readonly string[] = []): string[] {
  return [...before, text]
}

function portNumber(text: string): number {
  if (!/^\d{1,5}$/.test(text) || Number(text) > 65_535)
    throw new InvalidArgumentError('It must be a port, such as 8686.')
  return Number(text)
}

function wholeNumber(text: string): number {
  if (!/^\d{1,6}$/.test(text) || Number(text) === 0)
    throw new InvalidArgumentError('It must be a whole number above zero.')
  return Number(text)
}
