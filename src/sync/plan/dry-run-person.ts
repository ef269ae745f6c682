import { Failure } from '../../errors.ts'
import { ensureConnection } from '../../store/runs/runs.ts'
import type { PersonAccount } from '../../store/schema.ts'
import { requireConnection, type SyncConnection, type SyncContext } from '../context/context.ts'
import { type PlanDocument, withoutStored } from './dry-run.ts'
import { requestedPerson } from './person-watch.ts'
import { planOnePerson } from './plan-one-person.ts'
import { allChanges, memoryStage } from './stage.ts'

type PersonDryRunInput = { readonly connection: string; readonly person: string; readonly signal: AbortSignal }

/** What a run of one person would do now. Stores nothing and sends nothing. */
export async function planPersonDryRun(
  ctx: SyncContext,
  { connection: name, person, signal }: PersonDryRunInput,
): Promise<Omit<PlanDocument, 'kept'> & { readonly person: PersonAccount }> {
  const connection = requireConnection(ctx, name)
  requireSource(connection)
  await ensureConnection(ctx.store.db, name)
  const stage = memoryStage()
  const { account, ...plan } = await planOnePerson(ctx, connection, {
    requested: requestedPerson(person),
    stage,
    signal,
  })
  return { connection: name, ...withoutStored(plan), changes: await allChanges(stage), person: account.person }
}

/** Fails for a connection that has no source to read a person from. */
export function requireSource({ name, feeds }: SyncConnection): void {
  if (feeds.source) return
  throw new Failure(
    'usage',
    `"${name}" has no source to read a person from; \`rollcall person KEY\` shows what its events said`,
  )
}
