import type { Problem, Unserved } from '../../contract/control/shapes.ts'
import { allEvents, allPages } from '../pages.ts'
import { renderEvents } from '../render/events.ts'
import { renderLeavers } from '../render/leavers.ts'
import { renderProblems, renderUnserved } from '../render/status.ts'
import { type CommonOptions, withSession } from '../session.ts'

/** Lists the changes that do not come to pass, the people whose rows cannot be read, and the events that could not be understood. */
export async function problems(options: CommonOptions): Promise<number> {
  return await withSession(options, { looks: true }, async ({ config, control, output }) => {
    const found = await allPages((after?: string) =>
      control.listProblems({ query: { connection: options.connection, after, limit: 1000 } }),
    )
    const unserved = await allPages((after?: string) =>
      control.listUnserved({ query: { connection: options.connection, after, limit: 1000 } }),
    )
    const notEffective = await allPages((after?: string) =>
      control.listNotEffective({ query: { connection: options.connection, after, limit: 1000 } }),
    )
    const names = options.connection === undefined ? [...config.connections.keys()] : [options.connection]
    const events = await Promise.all(names.map((name) => allEvents(control, name, 'rejected')))
    const document = {
      problems: found.sort(byUrgency),
      unserved: unserved.sort(byUrgency),
      notEffective,
      events: events.flat(),
    }
    output.result(document, (listed, paint) =>
      [
        ...(listed.problems.length > 0 || listed.unserved.length === 0 ? [renderProblems(listed.problems, paint)] : []),
        ...(listed.unserved.length > 0
          ? [
              ...(listed.problems.length > 0 ? [''] : []),
              paint('bold', 'People who are not served as HR says'),
              renderUnserved(listed.unserved, paint),
            ]
          : []),
        ...(listed.notEffective.length > 0
          ? ['', paint('bold', 'Leavers acknowledged but not effective'), renderLeavers(listed.notEffective, paint)]
          : []),
        ...(listed.events.length > 0
          ? ['', paint('bold', 'Events that could not be understood'), renderEvents(listed.events, paint)]
          : []),
      ].join('\n'),
    )
    return 0
  })
}

/** Leavers first, and of those and the others the longest standing first. */
function byUrgency(a: Problem | Unserved, b: Problem | Unserved): number {
  if (a.leaver !== b.leaver) return a.leaver ? -1 : 1
  return Date.parse(a.firstAt) - Date.parse(b.firstAt)
}
