import type { ChangeView, RejectView, Run } from '../../contract/control/shapes.ts'
import type { Control } from '../control-client.ts'
import { allPages } from '../pages.ts'
import { renderChanges, renderRejects } from '../render/plan.ts'
import { renderRun, renderVerification } from '../render/run.ts'
import type { Paint } from '../render/text.ts'
import { type CommonOptions, withSession } from '../session.ts'

export type RunDetailOptions = CommonOptions & { readonly showValues?: boolean }

/** A run with everything that its plan says. */
export type RunDetail = Run & { readonly changes: readonly ChangeView[]; readonly rejects: readonly RejectView[] }

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
