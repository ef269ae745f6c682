import type { ChangeView, Problem, RejectView, Run } from '../contract/control/shapes.ts'
import type { Control } from './control-client.ts'
import { allEvents } from './events.ts'
import { renderEvents } from './render/events.ts'
import { renderChanges, renderRejects } from './render/plan.ts'
import { renderRun, renderRuns, renderVerification } from './render/run.ts'
import { renderProblems, renderStatus } from './render/status.ts'
import { type CommonOptions, withSession } from './session.ts'
import type { Paint } from './render/text.ts'

export type ListOptions = CommonOptions & { readonly limit?: number }
export type RunDetailOptions = CommonOptions & { readonly showValues?: boolean }

/** A run with everything that its plan says. */
export type RunDetail = Run & { readonly changes: readonly ChangeView[]; readonly rejects: readonly RejectView[] }

export async function status(options: CommonOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    output.result(await control.status({}), renderStatus)
    return 0
  })
}

export async function runs(options: ListOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    const { data } = await control.listRuns({ query: { connection: options.connection, limit: options.limit } })
    output.result({ runs: data }, ({ runs: listed }, paint) => renderRuns(listed, paint))
    return 0
  })
}

export async function problems(options: ListOptions): Promise<number> {
  return await withSession(options, {}, async ({ config, control, output }) => {
    const found = await allPages((after?: string) =>
      control.listProblems({ query: { connection: options.connection, after, limit: 1000 } }),
    )
    const names = options.connection === undefined ? [...config.connections.keys()] : [options.connection]
    const events = await Promise.all(names.map((name) => allEvents(control, name, 'rejected')))
    const document = { problems: found.sort(byUrgency), events: events.flat() }
    output.result(document, (listed, paint) =>
      [
        renderProblems(listed.problems, paint),
        ...(listed.events.length > 0
          ? ['', paint('bold', 'Events that could not be understood'), renderEvents(listed.events, paint)]
          : []),
      ].join('\n'),
    )
    return 0
  })
}

export async function run(id: string, options: RunDetailOptions): Promise<number> {
  return await withSession(options, {}, async ({ control, output }) => {
    output.result(await runDetail(control, id, { values: output.mayShowValues(options) }), renderRunDetail)
    return 0
  })
}

/** Reads a run with all its changes and rejects, page by page. */
export async function runDetail(control: Control, runId: string, { values }: { values: boolean }): Promise<RunDetail> {
  const found = await control.getRun({ params: { runId } })
  const changes = await allPages((after?: string) =>
    control.listChanges({ params: { runId }, query: { after, limit: 1000, values } }),
  )
  const rejects = await allPages((after?: number) =>
    control.listRejects({ params: { runId }, query: { after, limit: 1000 } }),
  )
  return { ...found, changes, rejects }
}

export function renderRunDetail(detail: RunDetail, paint: Paint): string {
  const parts = [
    renderRun(detail, paint),
    detail.verification ? renderVerification(detail.verification, paint) : '',
    renderChanges(detail.changes, paint),
    renderRejects(detail.rejects, detail.source?.name ?? 'source', paint),
  ]
  return parts.filter((part) => part !== '').join('\n\n')
}

/** Leavers first, and of those and the others the longest standing first. */
function byUrgency(a: Problem, b: Problem): number {
  if (a.leaver !== b.leaver) return a.leaver ? -1 : 1
  return Date.parse(a.firstAt) - Date.parse(b.firstAt)
}

async function allPages<T, A>(page: (after?: A) => Promise<{ data: T[]; next: A | null }>): Promise<T[]> {
  const all: T[] = []
  let after: A | undefined
  do {
    const { data, next } = await page(after)
    all.push(...data)
    after = next ?? undefined
  } while (after !== undefined)
  return all
}
