import { type FileHandle, mkdtemp, open, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { FastifyInstance } from 'fastify'
import type { Operator } from './operator.ts'
import { operatorPrefix } from './contract.ts'
import { requireToken } from './handlers.ts'
import { writeOwnFile } from '../export/own-file.ts'

/** Serves the export beside the operator's operations, whose answers are small. */
export function serveExport(app: FastifyInstance, operator: Operator, token: string): void {
  app.get(
    `${operatorPrefix}/export`,
    { onRequest: async (request) => requireToken(request, token) },
    async (_request, reply) => {
      const spooled = await spool(operator)
      const { size } = await spooled.stat()
      return reply
        .type('application/json; charset=utf-8')
        .header('content-length', size)
        .send(spooled.createReadStream({ start: 0 }))
    },
  )
}

/** The export in a file that has no name any more: how slowly a client reads is nothing that the database has to wait for. */
async function spool(operator: Operator): Promise<FileHandle> {
  const folder = await mkdtemp(join(tmpdir(), 'rollcall-export-'))
  try {
    const path = join(folder, 'export.json')
    await writeOwnFile(path, (sink) => operator.writeExport(sink))
    return await open(path)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}
