import type { FastifyInstance } from 'fastify'
import type { Kysely } from 'kysely'
import type { SignedUrl } from '../../contract/platform/users.ts'
import { Refusal } from '../../http/refusal.ts'
import type { PlatformContext } from '../core/context.ts'
import { readCursor, writeCursor } from '../core/cursors.ts'
import type { PlatformSchema } from '../core/schema.ts'

type Links = Pick<PlatformContext, 'cursorSecret' | 'baseUrl' | 'now'>
type Files = Pick<PlatformContext, 'cursorSecret' | 'now'> & { readonly db: Kysely<PlatformSchema> }

/** The last part of the path below the base address of the API. */
const folder = 'downloads'
const validMs = 10 * 60_000

// Opened in a browser, a file neither runs nor loads anything; it is only saved.
const safeHeaders = {
  'cache-control': 'private, no-store',
  'content-security-policy': "default-src 'none'; sandbox",
  'x-content-type-options': 'nosniff',
} as const

/** The address under which anybody can fetch the file of a document for ten minutes. */
export function downloadUrlOf({ cursorSecret, baseUrl, now }: Links, { id }: { readonly id: number }): SignedUrl {
  const token = writeCursor(cursorSecret, folder, { at: now().getTime() + validMs, id })
  return { signedUrl: `${baseUrl}/${folder}/${token}`, fileBuffer: null }
}

/** Serves the files of documents under their signed addresses, which are no operations of the contract. */
export function serveDownloads(app: FastifyInstance, prefix: string, { db, cursorSecret, now }: Files): void {
  app.get<{ Params: { token: string } }>(`${prefix}/${folder}/:token`, async ({ params }, reply) => {
    const signed = readCursor(cursorSecret, folder, params.token)
    const isValid = signed !== null && Number(signed.at) >= now().getTime()
    const file = isValid ? await findFile(db, signed.id) : undefined
    if (!file) throw new Refusal(404, 'The address of this file is wrong or has expired; ask for a new one')
    return reply
      .headers({ ...safeHeaders, 'content-type': file.media_type, 'content-disposition': attachment(file.name) })
      .send(file.content)
  })
}

function findFile(db: Kysely<PlatformSchema>, id: number) {
  return db
    .selectFrom('documents')
    .innerJoin('document_files', 'document_files.document_id', 'documents.id')
    .select(['name', 'media_type', 'content'])
    .where('id', '=', id)
    .executeTakeFirst()
}

/** A `Content-Disposition` after RFC 6266, with the name as RFC 5987 writes it. */
function attachment(name: string): string {
  const escaped = encodeURIComponent(name).replaceAll(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16)}`,
  )
  return `attachment; filename*=UTF-8''${escaped}`
}
