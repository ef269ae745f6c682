import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../../http/refusal.ts'
import { drainRefused } from '../../http/server/bytes.ts'

/** A file of a form, read while it arrives. */
export type ArrivingFile = { readonly name: string; readonly bytes: AsyncIterable<Uint8Array> }

const maxFieldBytes = 1000
const maxFields = 10

/** Serves a form whose last field is a file. The handler limits the size of the file. */
export function serveUploads(
  app: FastifyInstance,
  path: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    await scope.register(multipart, {
      limits: { fileSize: Number.POSITIVE_INFINITY, files: 1, fields: maxFields, fieldSize: maxFieldBytes },
    })
    scope.addContentTypeParser('*', async () => {
      throw refuse('UnsupportedMediaType', 'An export is uploaded with the form of this page, as a file.')
    })
    drainRefused(scope)
    scope.post(path, { config: { arrivesSlowly: true } }, handler)
  })
}

/** The file of the form; null if there is none. The fields before it become the body of the request. */
export async function readArrivingFile(request: FastifyRequest): Promise<ArrivingFile | null> {
  if (!request.isMultipart()) return null
  const fields: Record<string, unknown> = {}
  request.body = fields
  const parts = request.parts()
  for (;;) {
    const { value: part, done } = await parts.next()
    if (done || part === undefined) return null
    if (part.type === 'file') return part.filename ? { name: part.filename, bytes: part.file } : null
    fields[part.fieldname] = part.value
  }
}
