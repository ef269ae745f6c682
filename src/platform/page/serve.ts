import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import cookie from '@fastify/cookie'
import formbody from '@fastify/formbody'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../http/server/refusal.ts'
import { describeError } from '../../telemetry/describe-error.ts'
import type { Html } from '../../web/html.ts'
import { type ActsOptions, createActs } from './acts.ts'
import { layout, problem, type Send } from './layout.ts'
import { peopleRoutes } from './people-routes.ts'
import { pagePrefix } from './query.ts'
import { signInRoutes } from './sign-in-routes.ts'
import { createVisits } from './visits.ts'

export type PageOptions = ActsOptions & {
  /** Whether the page is reached over HTTPS, through a proxy, so that its cookies travel over HTTPS only. */
  readonly isSecure: boolean
}

const mostFormBytes = 16 * 1024
const yearSeconds = 365 * 24 * 60 * 60
const headers: Readonly<Record<string, string>> = {
  'cache-control': 'no-store',
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
  'cross-origin-resource-policy': 'same-origin',
  'referrer-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
}

/** Serves the Personnel page below `/personnel`, apart from the interfaces beside it: they take JSON, and it takes forms. */
export async function servePersonnelPage(app: FastifyInstance, options: PageOptions): Promise<void> {
  const [style, icon] = await Promise.all(
    ['style.css', 'icon.svg'].map((name) => readFile(new URL(name, import.meta.url))),
  )
  const digest = createHash('sha256')
    .update(style ?? '')
    .digest('hex')
    .slice(0, 12)
  const acts = createActs(options)
  const visits = createVisits(options)
  const send: Send = (reply, what, visit) => {
    const visitor = visit && { name: visit.operator.name, formToken: visit.formToken }
    return sendHtml(reply, layout({ ...what, visitor, style: `${pagePrefix}/style.css?${digest}` }))
  }
  app.addHook('onClose', () => acts.ended())
  await app.register(
    async (page) => {
      page.removeAllContentTypeParsers()
      await page.register(formbody, { bodyLimit: mostFormBytes })
      await page.register(cookie)
      page.addHook('onRequest', async (_request, reply) => {
        reply.headers(headers)
      })
      const sendProblem = async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
        // The database that would say who is signed in may be what failed.
        const visit = await visits.find(request).catch(() => null)
        const { status, message } = describeProblem(error, request)
        return send(reply.code(status), { title: 'That did not work', content: problem(message) }, visit)
      }
      page.setErrorHandler(sendProblem)
      page.setNotFoundHandler((request, reply) =>
        sendProblem(new Refusal(404, 'There is no such page.'), request, reply),
      )
      page.get('/style.css', async (_request, reply) => sendFile(reply, 'text/css; charset=utf-8', style))
      page.get('/icon.svg', async (_request, reply) => sendFile(reply, 'image/svg+xml', icon))
      signInRoutes(page, { ...options, visits, send })
      peopleRoutes(page, { ...options, visits, send, acts })
    },
    { prefix: pagePrefix },
  )
}

function sendHtml(reply: FastifyReply, document: Html): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(document.toString())
}

function sendFile(reply: FastifyReply, type: string, content: Buffer | undefined): FastifyReply {
  return reply.type(type).header('cache-control', `public, max-age=${yearSeconds}, immutable`).send(content)
}

/** What to answer for an error; one on our side is logged. */
function describeProblem(
  error: unknown,
  request: FastifyRequest,
): { readonly status: number; readonly message: string } {
  const { status, message } = error instanceof Refusal ? error : refusalOf(error)
  if (status >= 500) {
    request.log.error({ failure: describeError(error), route: request.routeOptions.url }, 'request failed')
  }
  return { status, message }
}

function refusalOf(error: unknown): { readonly status: number; readonly message: string } {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  if (status >= 400 && status < 500)
    return { status, message: 'This request is not one that a form of this page sends.' }
  return { status: 500, message: 'The request failed for a reason on our side. The log of the service says why.' }
}
