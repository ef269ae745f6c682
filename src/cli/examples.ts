import type { Command } from 'commander'

/** A command line as a person types it, and its purpose. */
type Example = readonly [line: string, about: string]

/** Examples of each command, by its name. A test passes each of them to the commands. */
export const examples: Readonly<Record<string, readonly Example[]>> = {
  demo: [['rollcall demo --once', 'run the demo and leave nothing behind']],
  init: [
    [
      'rollcall init --source exports/people.csv',
      'read an export, ask about what is missing in it, and write rollcall.yaml',
    ],
    ['rollcall init --source exports --key-file key --yes', 'accept the proposal without questions'],
    ['rollcall init --source scim', 'let Okta or Microsoft Entra push people, and create the token for it'],
    ['rollcall init --recipe personio-api', 'read the list of an HR system by its API; asks for the credentials'],
  ],
  recipes: [
    ['rollcall recipes', 'the HR systems that are read by API'],
    ['rollcall recipes personio-api', 'what to create there, and a configuration to copy'],
  ],
  check: [
    ['rollcall check', 'test everything before the first run'],
    ['rollcall check --connection hr --json', 'test one connection, for a program'],
    ['rollcall check --probe', 'test that the platform works as Rollcall expects'],
  ],
  plan: [
    ['rollcall plan', 'what a run would do now'],
    ['rollcall plan --person "Ana Silva" --show-values', 'why one person would be changed'],
    ['rollcall plan --out tonight.plan', 'write the plan to a file, to deliver exactly that plan later'],
  ],
  sync: [
    ['rollcall sync', 'read the source and deliver'],
    ['rollcall sync --person ana.silva@example.com', 'deliver one person now'],
    ['rollcall sync --plan tonight.plan', 'deliver exactly the plan in the file, or nothing'],
  ],
  resync: [['rollcall resync --verify', 'compare with the platform and repair every difference']],
  serve: [['rollcall serve --config /etc/rollcall/rollcall.yaml', 'run as a daemon with this configuration']],
  status: [
    ['rollcall status', 'the state of every connection'],
    ['rollcall status --watch', 'the same, kept up to date until q is pressed'],
  ],
  alerts: [['rollcall alerts', 'the open alerts']],
  'alerts test': [['rollcall alerts test --channel on-call', 'send a test message through one channel']],
  runs: [
    ['rollcall runs --limit 50', 'the newest fifty runs'],
    ['rollcall runs --follow', 'new runs as they start'],
  ],
  run: [
    ['rollcall run last', 'the newest run'],
    ['rollcall run @held --show-values', 'the held run, with names'],
    ['rollcall run 5f0c5a52 --follow', 'follow the run until it ends or is held'],
  ],
  problems: [
    ['rollcall problems', "people whose record on the platform differs from HR's export, and why"],
    ['rollcall problems --for-hr --show-values --out corrections.xlsx', 'what HR has to correct, as a file'],
  ],
  unblock: [['rollcall unblock --connection hr', 'try the platform again now']],
  pause: [
    ['rollcall pause hr --reason "HR moves to another system" --until 2026-12-01', 'stop scheduled runs until a day'],
  ],
  resume: [['rollcall resume hr', 'end the pause']],
  'webhook test': [['rollcall webhook test hr', 'send a signed sample to the daemon']],
  'accept-status': [
    ['rollcall accept-status', 'the answers so far'],
    ['rollcall accept-status "On sabbatical" --as employed', 'say what a status means'],
  ],
  alias: [
    ['rollcall alias', 'keys that may have changed'],
    ['rollcall alias E1001 N-2001', 'treat N-2001 as the new key of E1001'],
    ['rollcall alias --run @held --all', 'the same for all unambiguous pairs of the held run'],
  ],
  events: [['rollcall events --state rejected', 'events that could not be read']],
  'retry-events': [['rollcall retry-events', 'read all rejected events again']],
  'dismiss-events': [['rollcall dismiss-events 17 18', 'dismiss two rejected events']],
  approve: [
    ['rollcall approve @held', 'show the held plan and ask'],
    ['rollcall approve 5f0c5a52 --yes --reason "the office in Bern closed"', 'approve the current plan'],
  ],
  reject: [['rollcall reject @held --reason "the export was cut short"', 'reject the held plan']],
  cancel: [['rollcall cancel 5f0c5a52', 'cancel the run']],
  revert: [['rollcall revert last --reason "HR sent the export of last year"', 'revert the newest run']],
  person: [
    ['rollcall person E1001', 'what HR says about a person, and what the platform has'],
    ['rollcall person "Ana Silva" --show-values', 'the same by name, with values'],
  ],
  'report leavers': [
    ['rollcall report leavers', 'the departures of the last ninety days'],
    [
      'rollcall report leavers --from 2026-07-01 --to 2026-09-30 --out leavers.csv',
      'the departures of a quarter, as a table',
    ],
    ['rollcall report leavers --pack audit.zip', 'the report with its signatures'],
  ],
  retract: [
    ['rollcall retract E1001 --reason "a test row of HR"', 'delete the data of a person who was sent by mistake'],
    ['rollcall retract E1001 --undo', 'send the person again'],
  ],
  'statement verify': [
    ['rollcall statement verify --export people.csv --pack audit.zip', "recompute a statement from HR's export"],
  ],
  separate: [
    [
      'rollcall separate E1001 E1002 --on 2026-10-31 --reason "left before the move"',
      'separate people who are only on the platform',
    ],
  ],
  'effective fix': [
    ['rollcall effective fix E1001 --reason "set by mistake"', 'show who would be affected'],
    ['rollcall effective fix E1001 --reason "set by mistake" --yes', 'reset the sync of the person on the platform'],
  ],
  leave: [
    ['rollcall leave', 'the departures that HR has not recorded yet'],
    [
      'rollcall leave E1001 --reason "dismissed today, HR records it on Monday"',
      'state a departure; the second person adds --on and the day',
    ],
    ['rollcall leave E1001 --withdraw --reason "wrong person"', "let HR's data apply again now"],
  ],
  'hold-back': [
    ['rollcall hold-back', 'the people whose departure is held back'],
    [
      'rollcall hold-back E1001 --until 2026-12-31 --reason "HR fixes it in December"',
      'hold back the departure of a person',
    ],
    ['rollcall hold-back E1001 --end', "let HR's data apply again now"],
  ],
  forget: [['rollcall forget E1001 --reason "asked for erasure"', 'remove the values of a person who has left']],
  backup: [['rollcall backup /var/backups/rollcall.backup', 'write the store to a file']],
  restore: [['rollcall restore /var/backups/rollcall.backup --reason "the machine died"', 'restore the store']],
  move: [[`rollcall move --to '\${env:DATABASE_URL}'`, 'move the store to PostgreSQL']],
  'accept-store': [
    ['rollcall accept-store --reason "started again on purpose"', 'accept the current store as the right one'],
  ],
  'audit verify': [['rollcall audit verify', 'verify the whole audit trail']],
  'audit export': [
    ['rollcall audit export --from 2026-11-01 > november.jsonl', 'the entries since a day'],
    ['rollcall audit export --run last', 'the entries about the newest run'],
  ],
  'audit new-key': [['rollcall audit new-key --reason "the old one was leaked"', 'sign with a new key']],
  'token create': [['rollcall token create --name ci --role viewer', 'create a read-only token for a program']],
  'token list': [['rollcall token list', 'list the tokens']],
  'token revoke': [['rollcall token revoke ci', 'revoke the token of that name']],
  doctor: [['rollcall doctor', 'write a file for support']],
  completion: [['rollcall completion bash > /etc/bash_completion.d/rollcall', 'set up completion in bash']],
}

/** Puts its examples below the help of each command. */
export function withExamples(program: Command): Command {
  for (const [name, command] of namedCommands(program)) {
    const lines = examples[name]?.map(([line, about]) => `  ${line}\n      ${about}`)
    if (lines) command.addHelpText('after', `\nExamples:\n${lines.join('\n')}`)
  }
  return program
}

/** Every command that does something itself, by its name, such as `audit export`. */
export function namedCommands(command: Command, above = ''): [string, Command][] {
  return command.commands.flatMap((one): [string, Command][] => {
    const name = `${above} ${one.name()}`.trim()
    return [[name, one], ...namedCommands(one, name)]
  })
}
