import type { ForeignPerson } from '../../contract/control/foreign.ts'
import { type HandOverFormat, handOverFormats } from '../../contract/control/hand-over.ts'
import type { Leaver } from '../../contract/control/leavers.ts'
import type { LeftOutPerson } from '../../contract/control/left-out.ts'
import type { BlockedPerson, InboxEvent, Problem } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { renderEvents } from '../render/events.ts'
import { maxRowsShown, renderHandOver, renderHandOverFile } from '../render/hand-over.ts'
import { renderLeavers } from '../render/leavers.ts'
import { renderLeftOut } from '../render/left-out.ts'
import { renderBlockedPeople, renderForeign, renderProblems } from '../render/status.ts'
import type { Paint } from '../render/text.ts'
import { allEvents, allPages } from '../session/pages.ts'
import { writePrivateFile } from '../session/private-file.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall problems`. */
export type ProblemsOptions = CommonOptions & {
  readonly showValues?: boolean
  readonly forHr?: boolean
  readonly out?: string
}

/**
 * Lists changes that do not take effect, people whose rows are unreadable or contradict themselves, people who wait since a part of a plan
 * was approved without them, people whom only the platform knows, and events that could not be understood. With `forHr` it lists what HR has to correct instead.
 */
export async function problems(options: ProblemsOptions): Promise<number> {
  if (options.forHr) return await handOver(options)
  if (options.out !== undefined) throw new Failure('usage', '--out needs --for-hr')
  return await withSession(options, { isReadOnly: true }, async ({ config, control, output }) => {
    const { connection } = options
    const values = output.mayShowValues(options)
    const list = await allPages((after?: string) =>
      control.listProblems({ query: { connection, after, limit: 1000, values } }),
    )
    const blockedPeople = await allPages((after?: string) =>
      control.listBlockedPeople({ query: { connection, after, limit: 1000, values } }),
    )
    const leftOut = await allPages((after?: string) =>
      control.listLeftOut({ query: { connection, after, limit: 1000, values } }),
    )
    const foreign = await allPages((after?: string) =>
      control.listForeign({ query: { connection, after, limit: 1000 } }),
    )
    const notEffective = await allPages((after?: string) =>
      control.listNotEffective({ query: { connection, after, limit: 1000, values } }),
    )
    const names = connection === undefined ? [...config.connections.keys()] : [connection]
    const events = await Promise.all(names.map((name) => allEvents(control, name, 'rejected')))
    const document = {
      problems: list.sort(byUrgency),
      blockedPeople: blockedPeople.sort(byUrgency),
      // Deprecated: removed after 0.1.
      unserved: blockedPeople,
      leftOut: leftOut.sort(byWaiting),
      foreign,
      notEffective,
      events: events.flat(),
    }
    output.printResult(document, renderLists)
    return 0
  })
}

type Lists = {
  readonly problems: readonly Problem[]
  readonly blockedPeople: readonly BlockedPerson[]
  readonly leftOut: readonly LeftOutPerson[]
  readonly foreign: readonly ForeignPerson[]
  readonly notEffective: readonly Leaver[]
  readonly events: readonly InboxEvent[]
}

/** Each list under its title. The sentence that there are no problems is left out if another list is not empty. */
function renderLists(lists: Lists, paint: Paint): string {
  const { blockedPeople, leftOut, foreign, notEffective, events } = lists
  const showsProblems = lists.problems.length > 0 || blockedPeople.length + leftOut.length + foreign.length === 0
  const titled = (all: readonly unknown[], title: string, render: () => string) =>
    all.length === 0 ? [] : [`${paint('bold', title)}\n${render()}`]
  return [
    ...(showsProblems ? [renderProblems(lists.problems, paint)] : []),
    ...titled(blockedPeople, 'People who need attention', () => renderBlockedPeople(blockedPeople, paint)),
    ...titled(leftOut, 'Left out when a part of a plan was approved', () => renderLeftOut(leftOut, paint)),
    ...titled(foreign, 'People who are only on the platform', () => renderForeign(foreign, paint)),
    ...titled(notEffective, 'Leavers acknowledged but not effective', () => renderLeavers(notEffective, paint)),
    ...titled(events, 'Events that could not be read', () => renderEvents(events, paint)),
  ].join('\n\n')
}

/** Leavers first; among leavers and among the others, the oldest first. */
function byUrgency(a: Problem | BlockedPerson, b: Problem | BlockedPerson): number {
  if (a.leaver !== b.leaver) return a.leaver ? -1 : 1
  return Date.parse(a.firstAt) - Date.parse(b.firstAt)
}

/** Departures first; among them and among the others, whoever waits longest. */
function byWaiting(a: LeftOutPerson, b: LeftOutPerson): number {
  if (a.departs !== b.departs) return a.departs ? -1 : 1
  return Date.parse(a.since) - Date.parse(b.since)
}

/** Lists what HR has to correct, or writes it to a file. */
async function handOver(options: ProblemsOptions): Promise<number> {
  const { connection, out } = options
  const format = out === undefined ? null : formatOf(out)
  return await withSession(options, { isReadOnly: true }, async ({ control, output }) => {
    if (out === undefined || format === null) {
      const values = output.mayShowValues(options)
      const query = { connection, values, ...(!output.json && { perGroup: maxRowsShown }) }
      output.printResult(await control.getHandOver({ query }), renderHandOver)
      return 0
    }
    // A file may always hold values.
    const values = options.showValues ?? false
    const { content, count } = await control.getHandOverFile({ query: { connection, values, format } })
    await writePrivateFile(out, Buffer.from(content, 'base64'))
    output.printMessage(renderHandOverFile({ file: out, count, values }))
    if (options.json) output.printResult({ file: out, count, values }, String)
    return 0
  })
}

function formatOf(out: string): HandOverFormat {
  const format = handOverFormats.find((ending) => out.toLowerCase().endsWith(`.${ending}`))
  if (format === undefined) throw new Failure('usage', `${out} names no format: end it with .csv, .xlsx or .html`)
  return format
}
