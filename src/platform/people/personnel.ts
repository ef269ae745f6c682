import { type Kysely, type Selectable, sql } from 'kysely'
import type {
  Person,
  PersonnelModify,
  PersonnelReset,
  PersonRef,
  personnel,
} from '../../contract/platform/personnel.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { pluralize } from '../../web/words.ts'
import { checkCustomFields, customFieldsOf, requireCustomFields, storeCustomFields } from '../company/custom-fields.ts'
import { refreshCompliance } from '../compliance/refresh-compliance.ts'
import { compactUsers } from '../core/compact.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { listById, presentRows } from '../core/present-rows.ts'
import { changedAt, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { isStorableText } from '../core/storable-json.ts'
import { type Actor, apiKeyActor, type NewEvent, recordEvent, storeEvent } from '../events/store-events.ts'
import { lockForSync } from '../identity-sync/identity-sync.ts'
import { complianceChecksOf } from './present-checks.ts'

type Row = Selectable<PlatformSchema['personnel']>
type PersonColumns = Pick<Row, keyof Row & keyof Selectable<PlatformSchema['personnel_search']>>

const emailPrefix = 'email:'

/** The handlers of the operations on personnel. */
export const personnelHandlers: Handlers<typeof personnel, PlatformContext> = {
  async listPersonnel(ctx, { query }) {
    const { 'employmentStatus[]': statuses, 'complianceStatus[]': compliance } = query
    const conditions = sql.join([hasAny('employment_status', statuses), hasAny('compliance_status', compliance)], sql``)
    return replyWithPage(ctx, {
      table: 'personnel',
      where: sql`account_id = ${ctx.accountId}${conditions}`,
      filter: { statuses, compliance },
      query,
      present: (rows) => present(ctx, rows, query['expand[]']),
    })
  },

  async getPersonnel(ctx, { params, query }) {
    requireCustomFields(ctx, { expand: query['expand[]'] })
    const row = await findPerson(ctx, params.personnelId)
    const [person] = row ? await present(ctx, [row], query['expand[]']) : []
    if (!person) throw new Refusal(404, 'There is no such person')
    return { status: 200, body: person }
  },

  async updatePersonnel(ctx, { params, body }) {
    requireCustomFields(ctx, { submitted: body.customFields })
    const row = await ctx.db.transaction().execute((trx) => editByHand(trx, ctx, params.personnelId, body))
    const [person] = await present(ctx, [row])
    if (!person) throw new Error('the person was not presented')
    return { status: 200, body: person }
  },

  async resetPersonnelSync(ctx, { body }) {
    checkReset(body)
    const count = await resetSync({ ...ctx, actor: apiKeyActor(ctx) }, body.personnelIds)
    return { status: 201, body: { count } }
  },
}

function hasAny(column: 'employment_status' | 'compliance_status', statuses: readonly string[] = []) {
  return statuses.length > 0 ? sql` and ${sql.ref(column)} = any(${statuses}::text[])` : sql``
}

/** The person of that id or e-mail address in the caller's account, or undefined. */
export async function findPerson(
  ctx: Pick<PlatformContext, 'db' | 'accountId'>,
  reference: PersonRef,
): Promise<Row | undefined> {
  const person = ctx.db.selectFrom('personnel').selectAll('personnel').where('personnel.account_id', '=', ctx.accountId)
  if (typeof reference === 'number') return person.where('personnel.id', '=', reference).executeTakeFirst()
  const email = reference.slice(emailPrefix.length)
  if (!isStorableText(email)) return undefined
  return (
    person
      .innerJoin('users', 'users.id', 'personnel.user_id')
      // Without the account there is no index for the address.
      .where('users.account_id', '=', ctx.accountId)
      .where(sql<boolean>`fold_case(users.email) = fold_case(${email})`)
      .executeTakeFirst()
  )
}

// The row is locked first. An identity sync at the same time either comes before the edit or finds the fields set by hand.
async function editByHand(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  reference: PersonRef,
  body: PersonnelModify,
): Promise<Row> {
  const known = await findPerson({ db: trx, accountId: ctx.accountId }, reference)
  const person = known && (await lockPerson(trx, known.id))
  if (!person) throw new Refusal(404, 'There is no such person')
  const at = ctx.now()
  const status = statusChange(person, body, { at, by: ctx.callerId })
  const fields = { ...status, ...dateChanges(body) }
  const values = await checkCustomFields(trx, ctx, 'PERSONNEL', { submitted: body.customFields, isNew: false })
  const isEdited = Object.entries(fields).some(([name, value]) => !isSame(person[name as keyof Row], value))
  const hasNewValues = await storeCustomFields(trx, { entityType: 'PERSONNEL', entityId: person.id }, values)
  if (!isEdited && !hasNewValues) return person
  const edited = await trx
    .updateTable('personnel')
    .set({ ...fields, ...changedAt(at) })
    .where('id', '=', person.id)
    .returningAll()
    .executeTakeFirstOrThrow()
  await refreshCompliance(trx, { accountId: ctx.accountId, personnelIds: [person.id], at })
  await recordEvent(trx, ctx, editEvent(person, edited))
  return edited
}

async function lockPerson(trx: Kysely<PlatformSchema>, id: number): Promise<Row | undefined> {
  return trx.selectFrom('personnel').selectAll().where('id', '=', id).forNoKeyUpdate().executeTakeFirst()
}

type Edit = { readonly at: Date; readonly by: number }

/** The columns of a status set by hand. The reason goes when the person comes back into scope. */
function statusChange(person: Row, { employmentStatus, notHumanReason }: PersonnelModify, { at, by }: Edit) {
  const status = employmentStatus ?? person.employment_status
  const isOut = status === 'OUT_OF_SCOPE'
  if (notHumanReason !== undefined && !isOut)
    throw new Refusal(400, 'notHumanReason: belongs to the status OUT_OF_SCOPE')
  const reason = notHumanReason ?? (person.employment_status === status ? person.not_human_reason : null)
  if (isOut && reason === null) throw new Refusal(400, 'notHumanReason: is required for the status OUT_OF_SCOPE')
  if (employmentStatus === undefined && notHumanReason === undefined) return {}
  const isRepeated = person.status_updated_at !== null && person.employment_status === status
  return {
    employment_status: status,
    status_updated_at: isRepeated ? person.status_updated_at : at,
    not_human_reason: isOut ? reason : null,
    reason_provider_id: isOut ? (notHumanReason === undefined ? person.reason_provider_id : by) : null,
  }
}

function dateChanges({ startedAt, separatedAt }: PersonnelModify) {
  return {
    ...(startedAt !== undefined && { started_at: new Date(startedAt), started_by_hand: true }),
    ...(separatedAt !== undefined && { separated_at: new Date(separatedAt), separated_by_hand: true }),
  }
}

function isSame(before: unknown, after: unknown): boolean {
  return before instanceof Date && after instanceof Date ? before.getTime() === after.getTime() : before === after
}

function editEvent(before: Row, { id, employment_status: status }: Row): NewEvent {
  const description =
    before.employment_status === status
      ? `Person ${id} was edited by hand`
      : `The employment status of person ${id} was changed by hand from ${before.employment_status} to ${status}`
  return { type: 'EMPLOYMENT_STATUS_UPDATED', description, target: { kind: 'personnel', id } }
}

function checkReset({ action, personnelIds }: PersonnelReset): void {
  if (action === 'reset-sync' && !personnelIds) throw new Refusal(400, 'personnelIds is required for reset-sync')
  if (action === 'reset-sync-all' && personnelIds)
    throw new Refusal(400, 'personnelIds must be left out for reset-sync-all')
}

type Scope = Pick<PlatformContext, 'db' | 'accountId' | 'now'> & { readonly actor: Actor }

/** Lets the identity sync update people again who were edited by hand: the named ones, or all of the account. Returns their number. Refuses with 409 while a sync runs. */
export async function resetSync(scope: Scope, personnelIds?: readonly number[]): Promise<number> {
  return scope.db.transaction().execute(async (trx) => {
    if (!(await lockForSync(trx, scope.accountId))) {
      throw new Refusal(409, 'An identity sync of this account is running; try again when it has ended')
    }
    return resetPeople(trx, scope, personnelIds)
  })
}

async function resetPeople(
  trx: Kysely<PlatformSchema>,
  { accountId, actor, now }: Scope,
  personnelIds?: readonly number[],
): Promise<number> {
  const at = now()
  const chosen = personnelIds ? sql<boolean>`id = any(${personnelIds}::bigint[])` : sql<boolean>`true`
  // In the order of their ids, as every writer of several people locks them.
  await sql`
    select id from personnel where account_id = ${accountId} and set_by_hand and ${chosen} order by id for no key update
  `.execute(trx)
  const people = await trx
    .updateTable('personnel')
    .set({ status_updated_at: null, started_by_hand: false, separated_by_hand: false, ...changedAt(at) })
    .where('account_id', '=', accountId)
    .where('set_by_hand', '=', true)
    .where(chosen)
    .returning('id')
    .execute()
  if (people.length > 0) await storeEvent(trx, { accountId, actor, at }, resetEvent(accountId, people, personnelIds))
  return people.length
}

function resetEvent(
  accountId: number,
  people: readonly { readonly id: number }[],
  named: readonly number[] | undefined,
): NewEvent {
  const targets = { kind: 'personnel', ids: people.map(({ id }) => id) } as const
  const description = `Identity sync looks after ${pluralize(people.length, 'person', 'people')} again who ${people.length === 1 ? 'was' : 'were'} edited by hand`
  const several = { description, target: { kind: 'account', id: accountId }, targets } as const
  const [only] = targets.ids
  if (!named) return { type: 'FORCE_SYNC_ON_ALL', ...several }
  if (new Set(named).size > 1 || only === undefined) return { type: 'FORCE_SYNC_ON_SOME', ...several }
  return {
    type: 'FORCE_SYNC_ON_A_PERSON',
    description: `Identity sync looks after person ${only} again, who was edited by hand`,
    target: { kind: 'personnel', id: only },
  }
}

function present(ctx: PlatformContext, rows: readonly Row[], expand?: readonly string[]): Promise<Person[]> {
  const loaders = {
    ...userLoaders(ctx, rows),
    complianceChecks: async () => listById(await complianceChecksOf(ctx, rows)),
    customFields: async () => listById(await customFieldsOf(ctx, 'PERSONNEL', rows)),
  }
  return presentRows(rows, { present: presentPerson, expand, loaders })
}

type PersonUsers = Pick<Row, 'user_id' | 'reason_provider_id'>

/** The expansions of people that are users. */
export function userLoaders<R extends PersonUsers>(ctx: PlatformContext, rows: readonly R[]) {
  const usersOf = (ids: readonly (number | null)[]) => compactUsers(ctx.db, ctx.accountId, ids)
  return {
    user: async () => {
      const users = await usersOf(rows.map((row) => row.user_id))
      return (row: R) => users.get(row.user_id)
    },
    reasonProvider: async () => {
      const users = await usersOf(rows.map((row) => row.reason_provider_id))
      return (row: R) => users.get(row.reason_provider_id ?? 0) ?? null
    },
  }
}

/** The fields of a person that the list and the search show. */
export function presentPerson(row: PersonColumns): Person {
  return {
    id: row.id,
    userId: row.user_id,
    employmentStatus: row.employment_status,
    startedAt: row.started_at?.toISOString() ?? null,
    separatedAt: row.separated_at?.toISOString() ?? null,
    statusUpdatedAt: row.status_updated_at?.toISOString() ?? null,
    notHumanReason: row.not_human_reason,
    ...presentTimes(row),
  }
}
