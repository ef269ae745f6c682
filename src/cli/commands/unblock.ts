import { setTimeout as pause } from 'node:timers/promises'
import type { ConnectionStatus } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { type Paint, pluralize } from '../render/text.ts'
import { type CommonOptions, requireConnection, type Session, withSession } from '../session/session.ts'

/** The options of `rollcall unblock`. */
export type UnblockOptions = CommonOptions & { readonly by: string; readonly wait: number }

/** The result. `due`: how many people are still to be delivered. */
type UnblockResult = { readonly connection: string; readonly wasBlocked: boolean; readonly due: number }

const pollMs = 250

/** Probes a blocked connection at once, and waits for the platform's answer. */
export async function unblock(options: UnblockOptions): Promise<number> {
  return await withSession(options, { hasWorkers: true }, async (session) => {
    const { config, control, output } = session
    const connection = requireConnection(options, config)
    const before = await statusOf(session, connection)
    const { wasBlocked, due } = await control.unblockConnection({ params: { connection }, body: { by: options.by } })
    // Without anything to deliver, no request can probe the connection.
    const remaining = wasBlocked && due > 0 ? await waitForAnswer(session, before, options.wait) : due
    output.printResult({ connection, wasBlocked, due: remaining }, renderUnblocked)
    return 0
  })
}

/** The state of a connection after `rollcall unblock`. */
export function renderUnblocked({ connection, wasBlocked, due }: UnblockResult, paint: Paint): string {
  const waiting = due === 0 ? 'nothing waits to be delivered' : `${pluralize(due, 'person', 'people')} still to deliver`
  if (!wasBlocked) return `${paint('dim', '-')} ${connection} is not blocked; ${waiting}`
  return `${paint('green', '✔')} ${connection}: no longer blocked; ${waiting}`
}

/** Waits until the platform has accepted or refused somebody. Returns how many people are still to be delivered. Throws `blocked` if the platform refuses the connection again. */
async function waitForAnswer(session: Session, before: ConnectionStatus, waitSeconds: number): Promise<number> {
  const startedAt = performance.now()
  for (;;) {
    const now = await statusOf(session, before.name)
    if (now.blocked) throw new Failure('blocked', `${now.name} is blocked again: ${now.blocked.reason}`)
    if (hasAnswered(now, before)) return now.active?.remaining ?? 0
    if (performance.now() - startedAt > waitSeconds * 1000) {
      const tried = `nothing of ${now.name} was accepted within ${pluralize(waitSeconds, 'second')}`
      throw new Failure('platform_unreachable', `${tried}; Rollcall tries again, and "rollcall problems" shows when`)
    }
    await pause(pollMs, undefined, { signal: session.signal })
  }
}

/** Whether the platform has taken or refused a person since then. A run that begins or changes its state does not show that. */
export function hasAnswered(now: ConnectionStatus, before: ConnectionStatus): boolean {
  if (now.people.due < before.people.due) return true
  const was = before.active
  const is = [now.active, now.last].find((run) => run !== null && run.id === was?.id)
  return was !== null && is != null && is.confirmed + is.problems > was.confirmed + was.problems
}

async function statusOf({ control }: Session, name: string): Promise<ConnectionStatus> {
  const { connections } = await control.status({ query: { connection: name } })
  const [match] = connections
  if (!match) throw new Error(`the status of the connection "${name}" is empty`)
  return match
}
