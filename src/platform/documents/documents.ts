import { type Kysely, type Selectable, sql } from 'kysely'
import type { SignedUrl } from '../../contract/platform/users.ts'
import { Refusal } from '../../http/refusal.ts'
import type { PlatformContext } from '../core/context.ts'
import { anyOf, presentTimes } from '../core/rows.ts'
import type { PlatformSchema } from '../core/schema.ts'
import type { UploadedFile } from '../core/uploaded-files.ts'
import { recordEvent } from '../events/store-events.ts'
import { downloadUrlOf } from './downloads.ts'

/** A document as stored, without its file. */
export type DocumentRow = Selectable<PlatformSchema['documents']>

/** What a document is about. */
type Subject = { readonly column: 'user_id' | 'device_id'; readonly id: number }

type NewDocument = {
  readonly type: DocumentRow['type']
  readonly file: UploadedFile
  readonly completedAt: Date
  readonly renewalDate: string | null
}

/** Maximum number of documents about one user or device: the list of those of a device has no pages. */
const maxDocuments = 100

const kinds = {
  user_id: { target: 'userDocument', uploaded: 'USER_DOCUMENT_UPLOADED', deleted: 'USER_DOCUMENT_DELETED' },
  device_id: { target: 'deviceDocument', uploaded: 'DEVICE_DOCUMENT_UPLOADED', deleted: 'DEVICE_DOCUMENT_DELETED' },
} as const

/** The documents about these users or devices, oldest first. */
export function documentsOf(
  db: Kysely<PlatformSchema>,
  column: Subject['column'],
  ids: readonly number[],
): Promise<DocumentRow[]> {
  return db.selectFrom('documents').selectAll().where(column, '=', anyOf(ids)).orderBy('id').execute()
}

/** Stores a document with its file. The caller has locked what it is about. Refuses one more than the maximum with 400. */
export async function addDocument(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  { column, id }: Subject,
  { type, file, completedAt, renewalDate }: NewDocument,
): Promise<DocumentRow> {
  const { rows } = await sql`select from documents where ${sql.ref(column)} = ${id} limit ${maxDocuments}`.execute(trx)
  if (rows.length === maxDocuments)
    throw new Refusal(400, `there are ${maxDocuments} documents already; delete one that proves nothing any more`)
  const now = ctx.now()
  const row = await trx
    .insertInto('documents')
    .values({
      ...{ user_id: null, device_id: null, [column]: id },
      type,
      name: file.filename,
      media_type: file.mediaType,
      completed_at: completedAt,
      renewal_date: renewalDate,
      created_at: now,
      updated_at: now,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  await trx.insertInto('document_files').values({ document_id: row.id, content: file.content }).execute()
  await recordEvent(trx, ctx, {
    type: kinds[column].uploaded,
    description: `A document of type ${type} was uploaded.`,
    target: { kind: kinds[column].target, id: row.id },
  })
  return row
}

/** One document about a subject, or 404. */
export async function findDocument(
  db: Kysely<PlatformSchema>,
  { column, id }: Subject,
  documentId: number,
): Promise<DocumentRow> {
  const row = await db
    .selectFrom('documents')
    .selectAll()
    .where(column, '=', id)
    .where('id', '=', documentId)
    .executeTakeFirst()
  return row ?? refuseUnknown()
}

/** Deletes a document with its file, or refuses with 404. */
export async function removeDocument(
  trx: Kysely<PlatformSchema>,
  ctx: PlatformContext,
  { column, id }: Subject,
  documentId: number,
): Promise<void> {
  const removed = await trx
    .deleteFrom('documents')
    .where(column, '=', id)
    .where('id', '=', documentId)
    .returning('type')
    .executeTakeFirst()
  if (!removed) refuseUnknown()
  await recordEvent(trx, ctx, {
    type: kinds[column].deleted,
    description: `A document of type ${removed.type} was deleted.`,
    target: { kind: kinds[column].target, id: documentId },
  })
}

/** What the documents of users and those of devices have in common. */
export function presentDocument(
  ctx: Pick<PlatformContext, 'cursorSecret' | 'baseUrl' | 'now'>,
  row: DocumentRow,
  expand: readonly string[] = [],
) {
  const downloadUrl: SignedUrl | undefined = expand.includes('downloadUrl') ? downloadUrlOf(ctx, row) : undefined
  return { id: row.id, name: row.name, type: row.type, fileUrl: null, downloadUrl, ...presentTimes(row) }
}

function refuseUnknown(): never {
  throw new Refusal(404, 'There is no such document')
}
