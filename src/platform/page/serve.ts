import cookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Refusal } from '../../http/refusal.ts'
import { acceptPageForms } from '../../http/server/forms.ts'
import { describeError } from '../../telemetry/describe-error.ts'
import { serveAssets } from '../../web/assets.ts'
import { problemCard } from '../../web/layout.ts'
import { pageHeaders, sendPage } from '../../web/send.ts'
import { createPageActions, type PageActionOptions } from './actions.ts'
import { layout, type Send } from './layout.ts'
import { peopleRoutes } from './people-routes.ts'
import { pagePrefix } from './query.ts'
import { signInRoutes } from './sign-in-routes.ts'
import { createVisits } from './visits.ts'

type PageOptions = PageActionOptions & {
  /** Whether a proxy serves the page over HTTPS, so that cookies are sent over HTTPS only. */
  readonly isSecure: boolean
  /** Signs the addresses of files. */
  readonly cursorSecret: string
}

const maxFormBytes = 16 * 1024

/** Serves the Personnel page below `/personnel`. Its scope accepts forms and no JSON, unlike the APIs. */
export async function servePersonnelPage(app: FastifyInstance, options: PageOptions): Promise<void> {
  const acts = createPageActions(options)
  const visits = createVisits(options)
  app.addHook('onClose', () => acts.whenIdle())
  await app.register(
    async (page) => {
      page.removeAllContentTypeParsers()
      acceptPageForms(page, maxFormBytes)
      await page.register(cookie)
      page.addHook('onRequest', async (_request, reply) => {
        reply.headers(pageHeaders({ scripts: false }))
      })
      const assets = await serveAssets(page, { prefix: pagePrefix, names: ['style.css', 'icon.svg'] })
      // Browsers request it for pages without an icon, such as the reference page.
      app.get('/favicon.ico', async (_request, reply) => reply.redirect(assets.href('icon.svg')))
      const send: Send = (reply, document, visit) => {
        const visitor = visit && { name: visit.operator.name, formToken: visit.formToken }
        const loaded = { style: assets.href('style.css'), icon: assets.href('icon.svg') }
        return sendPage(reply, layout({ ...document, visitor, assets: loaded }))
      }
      const sendProblem = async (error: unknown, request: FastifyRequest, reply: FastifyReply) => {
        // The failure may be that of the database, which knows who is signed in.
        const visit = await visits.find(request).catch(() => null)
        const { status, message } = describeProblem(error, request)
        const back = { name: 'Back to Personnel', href: pagePrefix }
        return send(reply.code(status), { title: 'That did not work', content: problemCard({ message, back }) }, visit)
      }
      page.setErrorHandler(sendProblem)
      page.setNotFoundHandler((request, reply) =>
        sendProblem(new Refusal(404, 'There is no such page.'), request, reply),
      )
      signInRoutes(page, { ...options, visits, send })
      peopleRoutes(page, { ...options, visits, send, acts })
    },
    { prefix: pagePrefix },
  )
}

type Problem = { readonly status: number; readonly message: string }

/** The status and message for an error; logs errors of the server. */
function describeProblem(error: unknown, request: FastifyRequest): Problem {
  const { status, message } = error instanceof Refusal ? error : problemOf(error)
  if (status >= 500) {
    request.log.error({ failure: describeError(error), route: request.routeOptions.url }, 'request failed')
  }
  return { status, message }
}

function problemOf(error: unknown): Problem {
  const status = error instanceof Error && 'statusCode' in error ? Number(error.statusCode) : 500
  if (status >= 400 && status < 500) return { status, message: 'No form of this page sends such a request.' }
  return { status: 500, message: 'The request failed for a reason on our side. The log of the service says why.' }
}
