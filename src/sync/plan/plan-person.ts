import { Failure } from '../../errors.ts'
import type { StagedChange } from '../../store/plans/plans.ts'
import { ensureConnection } from '../../store/runs/runs.ts'
import type { PersonAccount } from '../../store/schema.ts'
import { requireConnection, type SyncConnection, type SyncContext } from '../context/context.ts'
import { preparePerson } from './one-person.ts'
import type { PlanDocument } from './dry-run.ts'
import { memoryStage } from './stage.ts'
import { requestedPerson } from './watch-person.ts'

/** What a run of one person would do now. Stores nothing and sends nothing. */
export async function planPersonDryRun(
  ctx: SyncContext,
  request: { connection: string; person: string; signal: AbortSignal },
): Promise<Omit<PlanDocument, 'kept'> & { readonly person: PersonAccount }> {
  const connection = requireConnection(ctx, request.connection)
  requireSource(connection)
  await ensureConnection(ctx.store.db, connection.name)
  const stage = memoryStage()
  const prepared = await preparePerson(ctx, connection, {
    asked: requestedPerson(request.person),
    stage,
    signal: request.signal,
    onProgress: () => {},
  })
  const { heldPart: _, standing: __, account, ...plan } = prepared
  const changes: StagedChange[] = []
  for await (const staged of stage.changes()) changes.push(...staged)
  return { connection: connection.name, ...plan, changes, person: account.person }
}

/** Refuses a person of a connection whose facts only come in by themselves. */
export function requireSource({ name, feeds }: SyncConnection): void {
  if (feeds.source) return
  throw new Failure(
    'usage',
    `"${name}" has no source to read a person from; \`rollcall person KEY\` shows what its events said`,
  )
}
