import type { ConnectionStateName, Status } from '../../contract/control/shapes.ts'
import { causeOf, progressText } from '../render/progress.ts'
import { renderStatus } from '../render/status.ts'
import { escapeText, type Paint } from '../render/text.ts'
import { statusOfAll } from '../session/all-connections.ts'
import type { Control } from '../session/control-client.ts'
import { watch } from '../session/live.ts'
import { type CommonOptions, withSession } from '../session/session.ts'

/** The options of `rollcall status`. */
export type StatusOptions = CommonOptions & {
  readonly watch?: boolean
  readonly search?: string
  readonly state?: ConnectionStateName
  readonly limit?: number
}

const shownByDefault = 50

/** Shows the daemon and its connections, or refreshes them with --watch. */
export async function status(options: StatusOptions): Promise<number> {
  const { connection, search, state } = options
  // A person reads a page; a program gets all.
  const limit = options.limit ?? (options.json || options.watch ? undefined : shownByDefault)
  const look = (control: Control) => statusOfAll(control, { connection, search, state }, limit)
  if (options.watch) {
    await watch(options, { look, render: renderStatus, changes: statusChanges })
    return 0
  }
  return await withSession(options, { isReadOnly: true }, async ({ control, output }) => {
    output.printResult(await look(control), renderStatus)
    return 0
  })
}

/** Each connection whose state has changed since the last look, and the alerts that were opened or closed. */
export function statusChanges(now: Status, before: Status | null, paint: Paint): string[] {
  const former = new Map(before?.connections.map((connection) => [connection.name, connectionText(connection, paint)]))
  const lines = now.connections.flatMap((connection) => {
    const line = connectionText(connection, paint)
    return former.get(connection.name) === line ? [] : [line]
  })
  const kinds = (snapshot: Status | null) =>
    new Set(snapshot?.alerts.map(({ connection, kind }) => `${connection}: ${kind}`))
  const [open, closed] = [kinds(now), kinds(before)]
  const isNews = causeOf(now.platformDelay) !== causeOf(before?.platformDelay)
  const platform = isNews ? [now.platformDelay ?? 'the platform answers again'] : []
  return [
    ...lines,
    ...platform.map(escapeText),
    ...[...open.difference(closed)].map((alert) => `${paint('red', 'alert')} ${alert}`),
    ...[...closed.difference(open)].map((alert) => `${paint('green', 'over')}  ${alert}`),
  ]
}

function connectionText({ name, active, last, people, blocked }: Status['connections'][number], paint: Paint): string {
  const state = active ? progressText(active, paint) : `${name}: ${last ? `last run ${last.state}` : 'no run yet'}`
  const due = people.due > 0 ? `, ${people.due} not delivered yet` : ''
  return `${state}${due}${blocked ? `, ${paint('red', 'blocked')}` : ''}`
}
