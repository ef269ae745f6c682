import { timingSafeEqual } from 'node:crypto'
import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Refusal } from '../../http/refusal.ts'
import { mount } from '../../http/server/mount.ts'
import { refusing } from '../../http/server/refusing.ts'
import { bearerToken } from '../accounts/authorize.ts'
import { writeOwnFile } from '../export/owner-only-file.ts'
import { writeExport } from '../export/write.ts'
import type { OperatorContext } from './context.ts'
import { operatorOperations, operatorPrefix } from './contract.ts'
import { operatorHandlers } from './handlers.ts'

/** The failures whose messages the operator gets; every other one becomes a 500. */
const statuses = { usage: 400, not_found: 404, conflict: 409 } as const

/** Serves the operator's API for callers with `token`. */
export function serveOperator(app: FastifyInstance, context: OperatorContext, token: string): void {
  serveExport(app, context, token)
  const handlers = refusing<typeof operatorOperations, OperatorContext>(operatorHandlers, {
    refusalOf: ({ code, message }) =>
      Object.hasOwn(statuses, code) ? new Refusal(statuses[code as keyof typeof statuses], message) : null,
  })
  mount(app, operatorOperations, handlers, {
    prefix: operatorPrefix,
    authorize: async (request) => {
      requireToken(request, token)
      return context
    },
  })
}

function requireToken(request: FastifyRequest, token: string): void {
  const actual = Buffer.from(bearerToken(request.headers.authorization) ?? '')
  const expected = Buffer.from(token)
  if (actual.length === expected.length && timingSafeEqual(actual, expected)) return
  throw new Refusal(401, 'Unauthorized: the operator token is missing or wrong', {
    headers: { 'www-authenticate': 'Bearer' },
  })
}

/** Serves the export as a stream, beside the operations. */
function serveExport(app: FastifyInstance, context: OperatorContext, token: string): void {
  app.get(
    `${operatorPrefix}/export`,
    { onRequest: async (request) => requireToken(request, token) },
    async (_request, reply) => {
      const file = await spool(context)
      const { size } = await file.stat()
      return reply
        .type('application/json; charset=utf-8')
        .header('content-length', size)
        .send(file.createReadStream({ start: 0 }))
    },
  )
}

/** Writes the export to an unlinked temporary file, so that a slow client does not keep the transaction open. */
async function spool({ db, now }: OperatorContext): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-export-'))
  try {
    const path = join(folder, 'export.json')
    await writeOwnFile(path, (sink) => writeExport(db, sink, now()))
    return await open(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
