import type { RevertAccount } from '../../contract/control/shapes.ts'
import { escapeText, number, type Paint, pluralize, roomIn, shortId, wrapWords } from './text.ts'

const keysWidth = 100
/** Maximum number of people named on a terminal; `--json` has more. */
const namedAtMost = 200

/** What happens to the people of a run that is reverted, and what remains to do. */
export function renderRevertAccount({ runId, people, joiners, retracted, left }: RevertAccount, paint: Paint): string {
  const blocks = [
    [
      `${paint('bold', `Revert of run ${shortId(runId)}`)}`,
      `  ${pluralize(people, 'person is reset', 'people are reset')} to the data from before it`,
    ],
    keysBlock('Joined in that run (not reverted). `rollcall retract KEY` retracts one', joiners, paint),
    keysBlock('Retracted in that run (not reverted). `rollcall retract KEY --undo` sends one again', retracted, paint),
    remainingBlock(left, paint),
    [
      `${paint('yellow', '!')} The next export is read as usual. If HR has not fixed it, the same changes are planned again, with the same guards. \`rollcall hold-back KEY\` keeps single people.`,
    ],
  ]
  return blocks.flatMap((lines) => (lines.length === 0 ? [] : [lines.join('\n')])).join('\n\n')
}

function keysBlock(title: string, { count, keys }: RevertAccount['joiners'], paint: Paint): string[] {
  if (count === 0) return []
  const named = keys.slice(0, namedAtMost).map(escapeText)
  const words = [...named, ...(count > named.length ? [`and ${number(count - named.length)} more`] : [])]
  return [
    paint('bold', `${title} (${number(count)})`),
    ...wrapWords(words, roomIn(paint, 2) ?? keysWidth).map((line) => `  ${line}`),
  ]
}

function remainingBlock({ count, people }: RevertAccount['left'], paint: Paint): string[] {
  if (count === 0) return []
  const named = people.slice(0, namedAtMost)
  return [
    paint('bold', `Not reverted (${number(count)})`),
    ...named.map(({ identityId, reason }) => `  ${escapeText(identityId)}  ${escapeText(reason)}`),
    ...(count > named.length ? [`  … and ${number(count - named.length)} more`] : []),
  ]
}
