import { type Command, InvalidArgumentError } from 'commander'
import type { ChangeKind } from '../../contract/control/shapes.ts'
import type { ApproveOptions } from '../commands/approve.ts'
import type { CancelOptions } from '../commands/cancel.ts'
import type { RejectOptions } from '../commands/reject.ts'
import type { RevertOptions } from '../commands/revert.ts'
import {
  addCommand,
  byOption,
  collectValues,
  commonOptions,
  type Definition,
  type ExitWith,
  heldRunOptions,
  runHelp,
  waitOption,
} from './define.ts'

/** The commands that decide about a run. */
export const decisionCommands: readonly Definition[] = [approveCommand, rejectCommand, cancelCommand, revertCommand]

function approveCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'approve',
    'Approve a held run: it delivers exactly the plan that it shows',
    commonOptions,
    heldRunOptions,
    byOption,
    waitOption,
  )
    .argument('<id>', runHelp)
    .option('--only <kinds>', `approve only changes of these kinds: ${partKinds.join(', ')}`, kindsOf)
    .option('--group <name>', 'approve only people of this group; can be repeated', collectValues)
    .option('--without-group', 'approve only people without a group; with --group, those people too')
    .option('--people <keys>', 'approve only the people with these keys, separated by commas', collectValues)
    .option('--people-file <file>', 'the same, with one key on each line of a file')
    .option('--digest <digest>', 'approve only the plan, or the part, with this digest')
    .option('--yes', 'approve the current plan without asking')
    .option('--show-values', 'show personal values in the plan')
    .action(
      exitWith(async (id: string, options: ApproveOptions) =>
        (await import('../commands/approve.ts')).approve(id, options),
      ),
    )
}

/** The kinds of change by the names that tables and questions use. */
const kindNames: Readonly<Record<string, ChangeKind>> = {
  leavers: 'leave',
  joiners: 'join',
  changes: 'update',
  returns: 'return',
  corrections: 'correct',
  retractions: 'retract',
}
const partKinds = Object.keys(kindNames)

function kindsOf(text: string): ChangeKind[] {
  return text.split(',').map((word) => {
    const name = word.trim()
    const kind = kindNames[name] ?? Object.values(kindNames).find((own) => own === name)
    if (kind === undefined) throw new InvalidArgumentError(`It must be one or more of ${partKinds.join(', ')}.`)
    return kind
  })
}

function rejectCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'reject', 'Reject the plan of a held run', commonOptions, heldRunOptions, byOption)
    .argument('<id>', runHelp)
    .action(
      exitWith(async (id: string, options: RejectOptions) =>
        (await import('../commands/reject.ts')).reject(id, options),
      ),
    )
}

function cancelCommand(program: Command, exitWith: ExitWith): void {
  addCommand(program, 'cancel', 'Cancel a run that is waiting, held or delivering', commonOptions, byOption)
    .argument('<id>', runHelp)
    .action(
      exitWith(async (id: string, options: CancelOptions) =>
        (await import('../commands/cancel.ts')).cancel(id, options),
      ),
    )
}

function revertCommand(program: Command, exitWith: ExitWith): void {
  addCommand(
    program,
    'revert',
    'Revert what a run did; the guards check it like any other run',
    commonOptions,
    byOption,
    waitOption,
  )
    .argument('<id>', runHelp)
    .requiredOption('--reason <text>', 'the reason, recorded in the audit trail')
    .action(
      exitWith(async (id: string, options: RevertOptions) =>
        (await import('../commands/revert.ts')).revert(id, options),
      ),
    )
}
