import type { RevertAccount } from '../../contract/control/shapes.ts'
import { pluralize, listed, number, type Paint, roomIn, shortId, escapeText } from './text.ts'

const keysWidth = 100
/** So many people are named on a terminal; `--json` has more. */
const namedAtMost = 200

/** What becomes of the people of a run that is reverted, and what is left to do. */
export function renderRevertAccount({ runId, people, joiners, retracted, left }: RevertAccount, paint: Paint): string {
  const blocks = [
    [
      `${paint('bold', `Revert of run ${shortId(runId)}`)}`,
      `  ${pluralize(people, 'person goes back', 'people go back')} to what was known of them before it`,
    ],
    keysBlock('Joined by it, and left as they are. `rollcall retract KEY` takes one back', joiners, paint),
    keysBlock('Taken back by it, and left so. `rollcall retract KEY --undo` sends one again', retracted, paint),
    leftBlock(left, paint),
    [
      `${paint('yellow', '!')} The next export is read as ever. If HR has not mended it, the same changes are planned again, under the same guards. \`rollcall hold-back KEY\` keeps single people.`,
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
    ...listed(words, roomIn(paint, 2) ?? keysWidth).map((line) => `  ${line}`),
  ]
}

function leftBlock({ count, people }: RevertAccount['left'], paint: Paint): string[] {
  if (count === 0) return []
  const named = people.slice(0, namedAtMost)
  return [
    paint('bold', `Left as they are (${number(count)})`),
    ...named.map(({ identityId, reason }) => `  ${escapeText(identityId)}  ${escapeText(reason)}`),
    ...(count > named.length ? [`  … and ${number(count - named.length)} more`] : []),
  ]
}
