import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { refuse } from '../../http/refusal.ts'
import { drainRefused } from '../../http/server/bytes.ts'

/** A file that arrives in a form. Its bytes are read while they come. */
export type ArrivingFile = { readonly name: string; readonly bytes: AsyncIterable<Uint8Array> }

const mostFieldBytes = 1000
const mostFields = 10

/** Serves a form with one file behind its fields. How long the file may be is for the one to say who reads it. */
export function serveUploads(
  app: FastifyInstance,
  path: string,
  handler: (request: FastifyRequest, reply: FastifyReply) => Promise<FastifyReply>,
): void {
  app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    await scope.register(multipart, {
      limits: { fileSize: Number.POSITIVE_INFINITY, files: 1, fields: mostFields, fieldSize: mostFieldBytes },
    })
    scope.addContentTypeParser('*', async () => {
      throw refuse('UnsupportedMediaType', 'An export is uploaded with the form of this page, as a file.')
    })
    drainRefused(scope)
    scope.post(path, { config: { arrivesSlowly: true } }, handler)
  })
}

/** The file of the form. The fields before it become the body of the request; null: there is no file. */
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
