import { type Kysely, sql } from 'kysely'
import type { userDocuments } from '../../contract/platform/user-documents.ts'
import type { UserDocument } from '../../contract/platform/users.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { refreshCompliance } from '../compliance/refresh-compliance.ts'
import type { PlatformContext } from '../core/context.ts'
import { replyWithPage } from '../core/pages.ts'
import { groupRows } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import {
  addDocument,
  type DocumentRow,
  documentsOf,
  findDocument,
  presentDocument,
  removeDocument,
} from '../documents/documents.ts'
import { readUpload } from '../documents/read-upload.ts'

/** The handlers of the operations on the documents of users. */
export const userDocumentHandlers: Handlers<typeof userDocuments, PlatformContext> = {
  async listUserDocuments(ctx, { params, query }) {
    const { name, type } = query
    await requireUser(ctx.db, ctx, params.userId)
    const ofName = name === undefined ? sql`` : sql` and strpos(fold_case(name), fold_case(${name})) > 0`
    const ofType = type === undefined ? sql`` : sql` and type = ${type}`
    return replyWithPage(ctx, {
      table: 'documents',
      where: sql`user_id = ${params.userId}${ofName}${ofType}`,
      filter: { ...params, name, type },
      query,
      present: (rows) => rows.map((row) => presentUserDocument(ctx, row, query['expand[]'])),
    })
  },

  async createUserDocument(ctx, { params, body }) {
    const completedAt = body.completionDate === undefined ? ctx.now() : new Date(body.completionDate)
    if (completedAt > ctx.now()) throw new Refusal(400, 'completionDate lies in the future')
    const file = await readUpload(body)
    const document = { type: body.type, file, completedAt, renewalDate: aYearAfter(completedAt) }
    const row = await write(ctx, params.userId, (trx) => addDocument(trx, ctx, about(params), document))
    return { status: 201, body: presentUserDocument(ctx, row) }
  },

  async getUserDocument(ctx, { params, query }) {
    await requireUser(ctx.db, ctx, params.userId)
    const row = await findDocument(ctx.db, about(params), params.documentId)
    return { status: 200, body: presentUserDocument(ctx, row, query['expand[]']) }
  },

  async deleteUserDocument(ctx, { params }) {
    await write(ctx, params.userId, (trx) => removeDocument(trx, ctx, about(params), params.documentId))
    return { status: 200 }
  },
}

/** The documents of these users by user id, for `expand[]=documents`. */
export async function userDocumentsOf(
  ctx: Parameters<typeof presentDocument>[0] & Pick<PlatformContext, 'db'>,
  userIds: readonly number[],
): Promise<ReadonlyMap<number, UserDocument[]>> {
  const rows = await documentsOf(ctx.db, 'user_id', userIds)
  return groupRows(
    rows,
    (row) => row.user_id ?? 0,
    (row) => presentUserDocument(ctx, row),
  )
}

function about({ userId }: { readonly userId: number }) {
  return { column: 'user_id', id: userId } as const
}

/** Writes documents of a user while nobody else does, and then the compliance of the person. */
async function write<T>(ctx: PlatformContext, userId: number, work: (trx: Kysely<PlatformSchema>) => Promise<T>) {
  return ctx.db.transaction().execute(async (trx) => {
    await requireUser(trx, ctx, userId, sql`for no key update`)
    const result = await work(trx)
    const people = await trx.selectFrom('personnel').select('id').where('user_id', '=', userId).execute()
    await refreshCompliance(trx, {
      accountId: ctx.accountId,
      personnelIds: people.map(({ id }) => id),
      at: ctx.now(),
    })
    return result
  })
}

async function requireUser(db: Kysely<PlatformSchema>, ctx: PlatformContext, id: number, lock = sql``): Promise<void> {
  const { rows } = await sql`select from users where account_id = ${ctx.accountId} and id = ${id} ${lock}`.execute(db)
  if (rows.length === 0) throw new Refusal(404, 'There is no such user')
}

function presentUserDocument(
  ctx: Parameters<typeof presentDocument>[0],
  row: DocumentRow,
  expand?: readonly string[],
): UserDocument {
  return { ...presentDocument(ctx, row, expand), userId: row.user_id ?? 0, renewalDate: row.renewal_date ?? '' }
}

function aYearAfter(moment: Date): string {
  return Temporal.PlainDate.from(moment.toISOString().slice(0, 10)).add({ years: 1 }).toString()
}
