import { type Kysely, sql } from 'kysely'
import type { deviceDocuments } from '../../contract/platform/device-documents.ts'
import { Refusal } from '../../http/refusal.ts'
import type { Handlers } from '../../http/server/mount.ts'
import { refreshCompliance } from '../compliance/refresh-compliance.ts'
import type { PlatformContext } from '../core/context.ts'
import type { PlatformSchema } from '../core/schema.ts'
import { addDocument, documentsOf, findDocument, presentDocument, removeDocument } from '../documents/documents.ts'
import { readUpload } from '../documents/read-upload.ts'

/** The handlers of the operations on the documents of devices. */
export const deviceDocumentHandlers: Handlers<typeof deviceDocuments, PlatformContext> = {
  async listDeviceDocuments(ctx, { params, query }) {
    await findOwner(ctx.db, ctx, params.deviceId)
    const rows = await documentsOf(ctx.db, 'device_id', [params.deviceId])
    const chosen = rows.filter(({ type }) => query.type === undefined || type === query.type)
    return { status: 200, body: { documents: chosen.map((row) => presentDocument(ctx, row, query['expand[]'])) } }
  },

  async createDeviceDocument(ctx, { params, body }) {
    const file = await readUpload(body)
    const document = { type: body.type, file, completedAt: ctx.now(), renewalDate: null }
    const row = await write(ctx, params.deviceId, (trx) => addDocument(trx, ctx, about(params), document))
    return { status: 201, body: presentDocument(ctx, row) }
  },

  async getDeviceDocument(ctx, { params, query }) {
    await findOwner(ctx.db, ctx, params.deviceId)
    const row = await findDocument(ctx.db, about(params), params.documentId)
    return { status: 200, body: presentDocument(ctx, row, query['expand[]']) }
  },

  async deleteDeviceDocument(ctx, { params }) {
    await write(ctx, params.deviceId, (trx) => removeDocument(trx, ctx, about(params), params.documentId))
    return { status: 200 }
  },
}

function about({ deviceId }: { readonly deviceId: number }) {
  return { column: 'device_id', id: deviceId } as const
}

/** Writes documents of a device while nobody else does, and then the compliance of its owner. */
async function write<T>(ctx: PlatformContext, deviceId: number, work: (trx: Kysely<PlatformSchema>) => Promise<T>) {
  return ctx.db.transaction().execute(async (trx) => {
    const owner = await findOwner(trx, ctx, deviceId, sql`for no key update`)
    const result = await work(trx)
    await refreshCompliance(trx, { accountId: ctx.accountId, personnelIds: [owner], at: ctx.now() })
    return result
  })
}

/** The personnel id of the owner of a device, or 404. */
async function findOwner(db: Kysely<PlatformSchema>, ctx: PlatformContext, id: number, lock = sql``): Promise<number> {
  const { rows } = await sql<{ personnel_id: number }>`
    select personnel_id from devices where account_id = ${ctx.accountId} and id = ${id} ${lock}
  `.execute(db)
  const [device] = rows
  if (!device) throw new Refusal(404, 'There is no such device')
  return device.personnel_id
}
