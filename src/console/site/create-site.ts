import { Readable } from 'node:stream'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { control } from '../../contract/control/control.ts'
import type { Status } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { Refusal, refuse } from '../../http/refusal.ts'
import { failureStatuses } from '../../http/server/failure-statuses.ts'
import { checkFormToken } from '../../http/server/form-tokens.ts'
import { leftSignal } from '../../http/server/left-signal.ts'
import { address } from '../../web/address.ts'
import { confirmation } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { type Download, sendDownload, sendPage } from '../../web/send.ts'
import type { Visitor } from './access.ts'
import { type Control, notAllowed } from './control.ts'
import { createFlashMessages, type FlashMessages } from './flash-messages.ts'
import type { Content } from './frame.ts'
import { createSharedAnswers, type SharedAnswers } from './shared-answers.ts'
import type { Action, Fields, PageContext, PageResult, Send, Site, SiteOptions, UploadForm } from './site.ts'
import { readArrivingFile, serveUploads } from './upload.ts'
import { capital, sentence } from './words.ts'

type Options = SiteOptions & { readonly send: Send }

/** What all routes share. */
type Routes = Options & {
  readonly app: FastifyInstance
  readonly flashMessages: FlashMessages
  readonly shared: {
    readonly pages: SharedAnswers<PageResult>
    readonly parts: SharedAnswers<Html | null>
    readonly status: SharedAnswers<Status>
  }
}

type Show<T> = (context: PageContext, fields: Fields) => Promise<T>
/** `isFresh`: shared answers are not used. */
type ShowRequest<T> = (request: FastifyRequest, visitor: Visitor, isFresh: boolean) => Promise<T>
type SignedInHandler = (request: FastifyRequest, reply: FastifyReply, visitor: Visitor) => Promise<FastifyReply>

/** Adds the routes of the console to `app`. Visitors who are not signed in are redirected to the sign-in page. */
export function createSite(app: FastifyInstance, options: Options): Site {
  const routes: Routes = {
    ...options,
    app,
    flashMessages: createFlashMessages(options.access),
    shared: { pages: createSharedAnswers(), parts: createSharedAnswers(), status: createSharedAnswers() },
  }
  return {
    page: (path, show) => addPage(routes, path, showToOne(routes, show)),
    sharedPage: (path, show) => addPage(routes, path, showToAll(routes, show, routes.shared.pages)),
    part: (path, show) => addPart(routes, path, showToOne(routes, show)),
    sharedPart: (path, show) => addPart(routes, path, showToAll(routes, show, routes.shared.parts)),
    file: (path, show) => addFile(routes, path, show),
    resultPage: (path, show) => addResultPage(routes, path, show),
    upload: (path, form) => addUpload(routes, path, form),
    action: (path, action) => addAction(routes, path, action),
  }
}

function addPage(routes: Routes, path: string, show: ShowRequest<PageResult>): void {
  const { send } = routes
  const handler = signedIn(routes, async (request, reply, visitor) => {
    const done = routes.flashMessages.take(request, reply, visitor)
    const result = await show(request, visitor, done !== null || isReload(request))
    if (result === null) throw refuse('NotFound', 'There is no such page.')
    return 'to' in result ? reply.redirect(result.to, 303) : send(reply, result, visitor, done)
  })
  routes.app.get(path, handler)
}

function addPart({ app, access }: Routes, path: string, show: ShowRequest<Html | null>): void {
  app.get(path, async (request, reply) => {
    // A part that renews itself does not show that a person is there, so it does not prolong the session.
    const visitor = await access.find(request, { isUse: false })
    const part = visitor && (await show(request, visitor, isReload(request)))
    // The browser loads the whole page, which leads to the sign-in page if the session has ended.
    if (part === null) reply.header('hx-refresh', 'true')
    return sendPage(reply, part ?? html``)
  })
}

function addFile(routes: Routes, path: string, show: Show<Download | null>): void {
  const handler = signedIn(routes, async (request, reply, visitor) => {
    const file = await show(contextOf(routes, request, { visitor, isFresh: true }), fieldsOf(request))
    if (file === null) throw refuse('NotFound', 'There is no such file.')
    const { content } = file
    return sendDownload(
      reply,
      Buffer.isBuffer(content) ? file : { ...file, content: reportErrorsOf(routes, path, content) },
    )
  })
  routes.app.get(path, handler)
}

/** A stream whose error is reported: the response has begun, so its reader only sees that it breaks off. */
function reportErrorsOf({ unexpected }: Routes, path: string, content: Readable): Readable {
  async function* pieces() {
    try {
      yield* content
    } catch (error) {
      if (!(error instanceof Refusal)) unexpected(error, path)
      throw error
    }
  }
  return Readable.from(pieces())
}

function addResultPage(routes: Routes, path: string, show: Show<Content>): void {
  const { send } = routes
  routes.app.get(
    path,
    signedIn(routes, async ({ url }, reply) => {
      const [own = path] = url.split('?', 1)
      return reply.redirect(own.slice(0, own.lastIndexOf('/')), 303)
    }),
  )
  const handler = signedIn(routes, async (request, reply, visitor) => {
    checkFormToken(request, visitor.formToken)
    return send(reply, await show(contextOf(routes, request, { visitor, isFresh: true }), fieldsOf(request)), visitor)
  })
  routes.app.post(path, handler)
}

function addUpload(routes: Routes, path: string, { operation, receive, askAgain }: UploadForm): void {
  const { send } = routes
  const handler = signedIn(routes, async (request, reply, visitor) => {
    const context = contextOf(routes, request, { visitor, isFresh: true })
    requireAllowed(context, operation)
    const file = await readArrivingFile(request)
    checkFormToken(request, visitor.formToken)
    try {
      if (file === null) throw new Failure('usage', 'choose the file of an export')
      const { to } = await receive(context, fieldsOf(request), file)
      return reply.redirect(to, 303)
    } catch (error) {
      if (!(error instanceof Failure || error instanceof Refusal)) throw error
      reply.code(error instanceof Failure ? failureStatuses[error.code] : error.status)
      const reason = sentence(error.message, file?.name)
      return send(reply, await askAgain(context, fieldsOf(request), reason), visitor)
    }
  })
  serveUploads(routes.app, path, handler)
}

function addAction(routes: Routes, path: string, action: Action): void {
  const { send } = routes
  const { operation, perform } = action
  const showQuestion = signedIn(routes, async (request, reply, visitor) => {
    const context = contextOf(routes, request, { visitor, isFresh: true })
    requireAllowed(context, operation)
    return send(reply, await questionPage(action, request, context, null), visitor)
  })
  routes.app.get(path, showQuestion)

  const performAction = signedIn(routes, async (request, reply, visitor) => {
    checkFormToken(request, visitor.formToken)
    const context = contextOf(routes, request, { visitor, isFresh: true })
    requireAllowed(context, operation)
    try {
      const result = await perform(context, fieldsOf(request))
      for (const answers of Object.values(routes.shared)) answers.clear()
      if ('content' in result) return send(reply, result, visitor)
      routes.flashMessages.set(reply, visitor, result.done)
      return reply.redirect(result.to, 303)
    } catch (error) {
      if (!(error instanceof Failure) || isOutage(error)) throw error
      reply.code(failureStatuses[error.code])
      return send(reply, await questionPage(action, request, context, sentence(error.message)), visitor)
    }
  })
  routes.app.post(path, performAction)
}

async function questionPage(
  { section, ask }: Action,
  request: FastifyRequest,
  context: PageContext,
  error: string | null,
): Promise<Content> {
  const question = await ask(context, fieldsOf(request))
  const [path = request.url] = request.url.split('?', 1)
  const content = confirmation({ ...question, action: path, formToken: context.formToken, error })
  return { title: question.title, content, section }
}

function signedIn({ access }: Routes, handler: SignedInHandler) {
  return async (request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> => {
    const visitor = await access.find(request, { isUse: true })
    if (visitor !== null) return handler(request, reply, visitor)
    const to = request.method === 'GET' && request.url !== '/' ? request.url : null
    return reply.redirect(address('/sign-in', { to }), 303)
  }
}

/** `isFresh`: shared answers are not used. */
type RequestVisit = { readonly visitor: Visitor; readonly isFresh: boolean }

function contextOf(routes: Routes, request: FastifyRequest, { visitor, isFresh }: RequestVisit): PageContext {
  const { caller, formToken } = visitor
  const ownControl = routes.control(caller, () => leftSignal(request))
  // Most pages show the status, and nothing else on them costs as much. It holds no personal values, so visitors can share it.
  const status: Control['status'] = (input) => {
    const read = () => ownControl.status(input)
    return isFresh ? read() : routes.shared.status.get(`${caller.role} ${JSON.stringify(input)}`, read)
  }
  return {
    caller,
    formToken,
    control: { ...ownControl, status },
    now: routes.now(),
    notAllowed: (operation) => notAllowed(caller, operation),
  }
}

function showToOne<T>(routes: Routes, show: Show<T>): ShowRequest<T> {
  return (request, visitor, isFresh) => show(contextOf(routes, request, { visitor, isFresh }), fieldsOf(request))
}

function showToAll<T>(routes: Routes, show: Show<T>, answers: SharedAnswers<T>): ShowRequest<T> {
  return (request, visitor, isFresh) => {
    const make = () => show(contextOf(routes, request, { visitor, isFresh }), fieldsOf(request))
    return isFresh ? make() : answers.get(`${visitor.caller.role} ${request.url}`, make)
  }
}

/** Whether a person pressed reload: browsers then send this header. */
function isReload({ headers }: FastifyRequest): boolean {
  return headers['cache-control'] !== undefined
}

function requireAllowed(context: PageContext, operation: keyof typeof control): void {
  const reason = context.notAllowed(operation)
  if (reason !== null) throw new Failure('forbidden', `${capital(reason)}.`)
}

const Values = z.record(z.string(), z.unknown())

/** The fields of a request, blanks trimmed. A field that was sent twice, or is not text, is empty. */
function fieldsOf(request: FastifyRequest): Fields {
  const values = Values.safeParse({ ...Object(request.query), ...Object(request.params), ...Object(request.body) })
  return (name) => {
    const value = values.success && Object.hasOwn(values.data, name) ? values.data[name] : undefined
    return typeof value === 'string' ? value.trim() : ''
  }
}

/** Whether Rollcall itself cannot work. A source that cannot be reached is often a mistake in what a person gave. */
function isOutage({ code }: Failure): boolean {
  return code !== 'source_unreachable' && failureStatuses[code] >= 500
}
