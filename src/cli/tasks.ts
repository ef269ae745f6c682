import type { Command } from 'commander'

/** The commands by the task in which a person needs them. The help lists them under these headings. */
const tasks: Readonly<Record<string, readonly string[]>> = {
  'First connection': ['demo', 'init', 'recipes', 'check', 'plan'],
  'Every day': [
    'sync',
    'resync',
    'serve',
    'status',
    'runs',
    'run',
    'problems',
    'approve',
    'reject',
    'person',
    'report',
    'statement',
    'effective',
  ],
  'Something is wrong': [
    'alerts',
    'unblock',
    'pause',
    'resume',
    'accept-status',
    'alias',
    'events',
    'retry-events',
    'dismiss-events',
    'cancel',
    'revert',
    'retract',
    'separate',
    'leave',
    'hold-back',
    'doctor',
  ],
  Administration: [
    'webhook',
    'forget',
    'backup',
    'restore',
    'move',
    'accept-store',
    'audit',
    'token',
    'completion',
    'platform',
  ],
}

/** Puts each command under the heading of its task. */
export function groupByTask(program: Command): Command {
  for (const command of program.commands) {
    const task = Object.entries(tasks).find(([, names]) => names.includes(command.name()))?.[0]
    if (task !== undefined) command.helpGroup(`${task}:`)
  }
  // The command help, which Commander adds.
  return program.commandsGroup('Administration:').helpCommand(true)
}
