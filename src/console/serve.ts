import cookie from '@fastify/cookie'
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { Failure } from '../errors.ts'
import { Refusal } from '../http/refusal.ts'
import { failureStatuses } from '../http/server/failure-statuses.ts'
import { acceptPageForms } from '../http/server/forms.ts'
import { serveAssets } from '../web/assets.ts'
import { html } from '../web/html.ts'
import { notice, problemCard } from '../web/layout.ts'
import { pageHeaders, sendPage } from '../web/send.ts'
import { auditPages } from './pages/audit.ts'
import { connectionPages } from './pages/connection.ts'
import { docsPages } from './pages/docs.ts'
import { effectivePages } from './pages/effective.ts'
import { eventPages } from './pages/events.ts'
import { firstVisitPages } from './pages/first-visit.ts'
import { handOverPages } from './pages/hand-over.ts'
import { heldPages } from './pages/held.ts'
import { heldAnswerPages } from './pages/held-answers.ts'
import { overviewPages } from './pages/overview.ts'
import { peoplePages } from './pages/people.ts'
import { personPages } from './pages/person.ts'
import { problemPages } from './pages/problems.ts'
import { reportPages } from './pages/reports.ts'
import { runPages } from './pages/run.ts'
import { runsPages } from './pages/runs.ts'
import { schedulePages } from './pages/schedules.ts'
import { settingsPages } from './pages/settings.ts'
import { settingsChangePages } from './pages/settings-change.ts'
import { settingsColumnsPages } from './pages/settings-columns.ts'
import { sourcePages } from './pages/sources.ts'
import { statementPages } from './pages/statement.ts'
import { createSite } from './site/create-site.ts'
import { type Content, documentOf, scripts } from './site/frame.ts'
import { helpFor } from './site/help.ts'
import { signInRoutes } from './site/sign-in.ts'
import type { Send, SiteOptions } from './site/site.ts'
import { sentence } from './site/words.ts'

/** The settings of a connection in YAML, or 300 columns and 200 words to choose from, are sent in one form. */
const maxFormBytes = 1024 * 1024
const titles: Readonly<Record<number, string>> = {
  403: 'You may not do this',
  404: 'Page not found',
  503: 'Rollcall is not available now',
}

/** Serves the console at `/`, apart from the interfaces beside it: they take JSON, and it takes forms. */
export async function serveConsole(app: FastifyInstance, options: SiteOptions): Promise<void> {
  const sendProblem = async (thrown: unknown, request: FastifyRequest, reply: FastifyReply) => {
    const error = options.failureOf(thrown) ?? thrown
    // The store that would say who is signed in may be what failed.
    const visitor = await options.access.find(request, { isUse: false }).catch(() => null)
    const { status, message } = problemOf(error)
    if (status === 500) options.unexpected(error, request.routeOptions.url ?? 'an unknown path')
    const title = titles[status] ?? 'That did not work'
    const back = { name: 'Go to the overview', href: '/' }
    reply.code(status).headers(pageHeaders({ scripts: true }))
    return send(reply, { title, content: problemCard({ title, message, back }), section: null }, visitor)
  }
  await app.register(cookie)
  const assets = await serveAssets(app, { prefix: '', names: ['style.css', 'icon.svg', ...scripts] })
  const send: Send = (reply, content, visitor, done = null) =>
    sendPage(
      reply,
      documentOf(done === null ? content : withNews(content, done), visitor, {
        assets,
        help: helpFor(reply.request.url),
      }),
    )

  // A browser that looks for a page of the console that is not there gets a page, and a program gets what the interfaces answer.
  app.addHook('onRequest', async (request, reply) => {
    if (!request.is404 || !looksForPage(request)) return
    await sendProblem(new Refusal(404, 'There is no such page.'), request, reply)
    return reply
  })
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    acceptPageForms(scope, maxFormBytes)
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers(pageHeaders({ scripts: true }))
    })
    scope.setErrorHandler(sendProblem)
    const site = createSite(scope, { ...options, send })
    signInRoutes(scope, {
      access: options.access,
      send: (reply, { title, content }) => send(reply, { title, content, section: null }, null),
    })
    overviewPages(site)
    connectionPages(site)
    firstVisitPages(site)
    runsPages(site)
    runPages(site)
    heldPages(site)
    heldAnswerPages(site)
    peoplePages(site)
    personPages(site)
    problemPages(site)
    handOverPages(site)
    effectivePages(site)
    sourcePages(site)
    statementPages(site)
    eventPages(site)
    schedulePages(site)
    reportPages(site)
    auditPages(site)
    settingsPages(site)
    settingsChangePages(site)
    settingsColumnsPages(site)
    docsPages(site)
  })
}

/** A page that begins with what its reader has just done. */
function withNews(page: Content, done: string): Content {
  return { ...page, content: html`${notice(done)}${page.content}` }
}

function looksForPage({ method, url, headers }: FastifyRequest): boolean {
  if (method !== 'GET' || !headers.accept?.includes('text/html')) return false
  return !/^\/(?:api|webhooks|scim|assets)(?:\/|\?|$)/.test(url)
}

function problemOf(error: unknown): { readonly status: number; readonly message: string } {
  if (error instanceof Failure) return { status: failureStatuses[error.code], message: sentence(error.message) }
  if (error instanceof Refusal) return { status: error.status, message: sentence(error.message) }
  const status = (error as Partial<FastifyError> | null)?.statusCode ?? 500
  if (status >= 400 && status < 500) return { status, message: 'No form of this page sends such a request.' }
  return { status: 500, message: 'The request failed because of an error in Rollcall. See the log of the daemon.' }
}
