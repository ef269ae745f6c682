import { isDeepStrictEqual } from 'node:util'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { InputOf, Operation, OperationTable, ReplyOf } from '../../contract/operation.ts'
import { describeIssues } from '../issues.ts'
import { Refusal } from '../refusal.ts'
import { compressed, send } from './app.ts'
import { acceptBytes } from './bytes.ts'
import { type Input, readInput } from './input.ts'

/** One handler for each operation of a table. It answers with a listed success, or throws a `Refusal`. */
export type Handlers<T extends OperationTable, Ctx> = {
  readonly [K in keyof T]: (ctx: Ctx, input: InputOf<T[K]>) => Promise<ReplyOf<T[K]>>
}

/** Where and for whom a table of operations is served. */
export type MountOptions<Ctx> = {
  /** The prefix of every path, such as `/public/v2`. */
  readonly prefix: string
  /** Runs before the request is read, and throws a `Refusal` for a caller without permission. */
  readonly authorize: (request: FastifyRequest, operation: Operation) => Promise<Ctx>
  /** For tests: a reply or a refusal that the table does not list becomes a 500. */
  readonly validateResponses?: boolean
}

type Reply = { readonly status: number; readonly body?: unknown }

/** Serves every operation of a table below a prefix. Checks come in this order: authorize, path, query, body, handler. */
export function mount<T extends OperationTable, Ctx>(
  app: FastifyInstance,
  table: T,
  handlers: Handlers<T, Ctx>,
  options: MountOptions<Ctx>,
): void {
  for (const [name, operation] of Object.entries(table)) {
    // The table's type relates each handler to its operation. The loop loses this relation.
    const handler: (ctx: Ctx, input: never) => Promise<Reply> = handlers[name as keyof T]
    const answer = (ctx: Ctx, input: Input) => handler(ctx, input as never)
    if (operation.takesBytes)
      app.register(async (scope) => {
        acceptBytes(scope)
        serve(scope, name, operation, answer, options)
      })
    else serve(app, name, operation, answer, options)
  }
}

function serve<Ctx>(
  app: FastifyInstance,
  name: string,
  operation: Operation,
  handler: (ctx: Ctx, input: Input) => Promise<Reply>,
  { prefix, authorize, validateResponses = false }: MountOptions<Ctx>,
): void {
  const contexts = new WeakMap<FastifyRequest, { ctx: Ctx }>()
  app.route({
    method: operation.method,
    url: `${prefix}${operation.path}`,
    compress: compressed,
    ...(operation.takesBytes && { config: { arrivesSlowly: true } }),
    onRequest: async (request, reply) => {
      try {
        contexts.set(request, { ctx: await authorize(request, operation) })
      } catch (error) {
        if (error instanceof Refusal && error.status === 401) askForKey(request, reply)
        throw error
      }
    },
    handler: async (request, reply) => {
      const admitted = contexts.get(request)
      if (admitted === undefined) throw new Error(`${name} was reached without authorization`)
      const answer = () => handler(admitted.ctx, readInput(operation, request))
      return send(reply, validateResponses ? await checkReply(name, operation, answer) : await answer())
    },
    onResponse: async (request, reply) => {
      request.log.debug(
        { operation: name, status: reply.statusCode, durationMs: reply.elapsedTime },
        'request answered',
      )
    },
  })
}

/** Adds to a 401 that a bearer token is required, or that the token is not valid. */
function askForKey(request: FastifyRequest, reply: FastifyReply): void {
  const challenge = request.headers.authorization === undefined ? 'Bearer' : 'Bearer error="invalid_token"'
  reply.header('www-authenticate', challenge)
}

async function checkReply(name: string, operation: Operation, answer: () => Promise<Reply>): Promise<Reply> {
  const reply = await answer().catch((error: unknown) => {
    if (error instanceof Refusal && !operation.errors.includes(error.status)) {
      throw new Error(`${name} refused with ${error.status}, which the operation does not list`, { cause: error })
    }
    throw error
  })
  const schema = operation.success[reply.status]
  if (schema === undefined) throw new Error(`${name} answered ${reply.status}, which the operation does not list`)
  if (schema === null) {
    if (reply.body !== undefined)
      throw new Error(`${name} answered ${reply.status} with a body; the operation has none`)
    return reply
  }
  const body: unknown = JSON.parse(JSON.stringify(reply.body ?? null))
  const parsed = schema.safeParse(body)
  if (!parsed.success) throw new Error(`${name} answered what it must not: ${describeIssues(parsed.error, 'body')}`)
  // Parsing drops unknown keys, so a difference means that the reply has keys that the table lacks.
  if (!isDeepStrictEqual(parsed.data, body))
    throw new Error(`${name} answered with keys that the operation does not list`)
  return reply
}
