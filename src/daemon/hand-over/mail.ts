import type { HandOver, HandOverGroup } from '../../contract/control/hand-over.ts'
import { departuresText, groupTitle, handOverSummary } from '../../contract/control/hand-over-texts.ts'
import { escapeText } from '../../text/escape.ts'
import type { Mail } from '../alerts/smtp.ts'
import type { HandOverMails } from '../config/hand-over-settings.ts'
import { handOverFile } from './files.ts'

type HandOverMail = Pick<HandOverMails, 'attachment' | 'valuesInBody'> & {
  /** The page of the console, or null. */
  readonly link: string | null
  readonly messageId: string
}

/** Maximum number of groups that the text of a mail names. */
const groupsNamed = 50

/** The mail about a list with values. Its text quotes cells only where `valuesInBody` says so. */
export async function handOverMail(
  list: HandOver,
  { attachment, valuesInBody, link, messageId }: HandOverMail,
): Promise<Mail> {
  const shown = list.groups.slice(0, groupsNamed)
  const more = list.groups.length - shown.length
  const lines = [
    `${handOverSummary(list)}.`,
    'Please correct this in the HR system; the next export brings it to Rollcall.',
    '',
    ...shown.flatMap((group) => groupLines(group, valuesInBody)),
    ...(more > 0 ? [`and ${more} more kinds of faults`, ''] : []),
    attachment === 'none' ? withoutList(link) : 'The attachment lists every row. It holds personal values.',
    ...(link === null ? [] : [link]),
  ]
  return {
    subject: `[Rollcall] ${handOverSummary(list)}`,
    text: `${lines.join('\n')}\n`,
    date: new Date(list.madeAt),
    messageId,
    attachments: attachment === 'none' ? [] : [await attachmentOf(list, attachment)],
  }
}

/** Where the rows and the details of the faults are. */
function withoutList(link: string | null): string {
  return link === null
    ? 'Whoever runs Rollcall has the list of every row with its details.'
    : 'The console lists every row with its details:'
}

function groupLines(group: HandOverGroup, valuesInBody: boolean): string[] {
  const { cells: _, ...withoutValues } = group
  const { problem, remedy, connection, departures, rows } = group
  const unsent = rows.filter(({ isNew }) => isNew).length
  const notes = [
    ...(departures === 0 ? [] : [departuresText(departures)]),
    ...(unsent === 0 || unsent === rows.length ? [] : [`${unsent} of them new`]),
  ]
  return [
    `- ${escapeText(groupTitle(valuesInBody ? group : withoutValues))} (${connection}): ${problem}${notes.map((note) => `; ${note}`).join('')}.`,
    `  ${escapeText(remedy)}`,
    '',
  ]
}

async function attachmentOf(list: HandOver, format: Exclude<HandOverMails['attachment'], 'none'>) {
  const { name, type, content } = await handOverFile(list, format)
  return { filename: name, contentType: type, content }
}
