import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import type { Caller } from '../../contract/control/access.ts'
import type { control } from '../../contract/control/control.ts'
import type { Status } from '../../contract/control/shapes.ts'
import { Failure } from '../../errors.ts'
import { Refusal, refuse } from '../../http/refusal.ts'
import { failureStatuses } from '../../http/server/failure-statuses.ts'
import { checkFormToken } from '../../http/server/form-tokens.ts'
import { address } from '../../web/address.ts'
import { type Confirmation, confirmation } from '../../web/forms.ts'
import { type Html, html } from '../../web/html.ts'
import { type Download, sendDownload, sendPage } from '../../web/send.ts'
import { type Common, createCommon } from './common.ts'
import { type Control, notAllowed } from './control.ts'
import type { Content, Section } from './frame.ts'
import { createNews } from './news.ts'
import { type Arriving, arrivingFile, serveUploads } from './upload.ts'
import type { Access, Visit } from './visits.ts'
import { capital } from './words.ts'

export type SiteOptions = {
  /** How people get in, and who is there. */
  readonly access: Access
  /** The control API for a caller; it refuses what their role does not allow. */
  readonly control: (caller: Caller) => Control
  readonly now: () => Date
  /** What an error means that was thrown as none, such as of a store that is away; null: it is a bug. */
  readonly failureOf: (error: unknown) => Failure | null
  /** Told of bugs. */
  readonly unexpected: (error: unknown, route: string) => void
}

/** Sends a page. `done`: what the visitor has just done; null: nothing. */
export type Send = (reply: FastifyReply, content: Content, visit: Visit | null, done?: string | null) => FastifyReply

/** Anybody with a role, and what pages are made with that are the same for all of them. */
export type Reader = {
  readonly control: Control
  readonly now: Date
  /** Why the visitor may not do this; null if they may. */
  readonly notAllowed: (operation: keyof typeof control) => string | null
}

/** A visitor who is signed in, and what a page of theirs is made with. */
export type Guest = Reader & {
  readonly caller: Caller
  readonly formToken: string
}

type Shown = Content | { readonly to: string } | null

/** What the address, or a form, says under a name; empty where it says nothing. */
export type Fields = (name: string) => string

/** Something that a visitor does: asked about at an address, done by a form that is sent to the same one. */
export type Act = {
  readonly section: Section
  /** What it does in the control API. */
  readonly operation: keyof typeof control
  /** What will happen, and what has to be said. After a failure it is asked again with what was given. */
  readonly ask: (guest: Guest, fields: Fields) => Promise<Omit<Confirmation, 'formToken' | 'action' | 'error'>>
  /** Does it; says where to go on and what was done. */
  readonly perform: (guest: Guest, fields: Fields) => Promise<{ readonly to: string; readonly done: string }>
}

/** Takes a file that a visitor gives in a form. */
export type Take = {
  /** What it does in the control API. */
  readonly operation: keyof typeof control
  /** Takes the file while it arrives; says where to go on. */
  readonly take: (guest: Guest, fields: Fields, file: Arriving) => Promise<{ readonly to: string }>
  /** The form once more, with the reason why the file was not taken. */
  readonly again: (guest: Guest, fields: Fields, reason: string) => Promise<Content>
}

export type Site = {
  /** A page. `null` from it: there is no such page. */
  page(path: string, show: (guest: Guest, fields: Fields) => Promise<Shown>): void
  /**
   * A page without personal values, each look at which would be recorded. Everybody with the role shares one that is a second old at
   * most. Who has just done something, or loads the page again, sees a new one.
   */
  commonPage(path: string, show: (reader: Reader, fields: Fields) => Promise<Shown>): void
  /** A part of a page that is asked for again and again. Where it answers null, the browser loads the whole page. */
  part(path: string, show: (guest: Guest, fields: Fields) => Promise<Html | null>): void
  /** A part that is shared as a common page is. */
  commonPart(path: string, show: (reader: Reader, fields: Fields) => Promise<Html | null>): void
  act(path: string, act: Act): void
  upload(path: string, take: Take): void
  /** A page that answers a form which changes nothing. Loading it by its address leads to the page above it. */
  show(path: string, show: (guest: Guest, fields: Fields) => Promise<Content>): void
  /** Something to keep. `null` from it: there is no such file. */
  file(path: string, show: (guest: Guest, fields: Fields) => Promise<Download | null>): void
}

/** One value for each name; of one that came twice, or as anything but text, none counts. */
const Values = z.record(z.string(), z.unknown())

/** How pages and acts of the console are added, each with what all of them have in common. */
export function createSite(app: FastifyInstance, options: SiteOptions & { readonly send: Send }): Site {
  const { access, send } = options
  const news = createNews(access)
  const common = { pages: createCommon<Shown>(), parts: createCommon<Html | null>(), status: createCommon<Status>() }

  type Work = (request: FastifyRequest, reply: FastifyReply, visit: Visit) => Promise<FastifyReply>
  const signedIn = (work: Work) => async (request: FastifyRequest, reply: FastifyReply) => {
    const visit = await access.find(request, { isUse: true })
    if (visit !== null) return work(request, reply, visit)
    const to = request.method === 'GET' && request.url !== '/' ? request.url : null
    return reply.redirect(address('/sign-in', { to }), 303)
  }
  const guestOf = ({ caller, formToken }: Visit, isNew: boolean): Guest => {
    const own = options.control(caller)
    // Most pages say how the connections stand, and finding that out costs more than all else on them. It holds no personal value.
    const status: Control['status'] = () =>
      isNew ? own.status({}) : common.status.recall(caller.role, () => own.status({}))
    return {
      caller,
      formToken,
      control: { ...own, status },
      now: options.now(),
      notAllowed: (operation) => notAllowed(caller, operation),
    }
  }

  type Showing<T> = (request: FastifyRequest, visit: Visit, isNew: boolean) => Promise<T>
  const addPage = (path: string, show: Showing<Shown>) => {
    app.get(
      path,
      signedIn(async (request, reply, visit) => {
        const done = news.hear(request, reply, visit)
        const shown = await show(request, visit, done !== null || isAgain(request))
        if (shown === null) throw refuse('NotFound', 'There is no such page.')
        return 'to' in shown ? reply.redirect(shown.to, 303) : send(reply, shown, visit, done)
      }),
    )
  }
  const addPart = (path: string, show: Showing<Html | null>) => {
    app.get(path, async (request, reply) => {
      // A page that renews itself is no sign of a person. Without a visit the whole page is loaded, which leads to the sign-in.
      const visit = await access.find(request, { isUse: false })
      const shown = visit && (await show(request, visit, isAgain(request)))
      if (shown === null) reply.header('hx-refresh', 'true')
      return sendPage(reply, shown ?? html``)
    })
  }
  type Show<T> = (guest: Guest, fields: Fields) => Promise<T>
  const showTo =
    <T>(show: Show<T>): Showing<T> =>
    (request, visit, isNew) =>
      show(guestOf(visit, isNew), fieldsOf(request))
  const showToAll =
    <T>(show: Show<T>, answers: Common<T>): Showing<T> =>
    (request, visit, isNew) => {
      const make = () => show(guestOf(visit, isNew), fieldsOf(request))
      return isNew ? make() : answers.recall(`${visit.caller.role} ${request.url}`, make)
    }

  return {
    page: (path, show) => addPage(path, showTo(show)),
    commonPage: (path, show) => addPage(path, showToAll(show, common.pages)),
    part: (path, show) => addPart(path, showTo(show)),
    commonPart: (path, show) => addPart(path, showToAll(show, common.parts)),
    file(path, show) {
      app.get(
        path,
        signedIn(async (request, reply, visit) => {
          const file = await show(guestOf(visit, true), fieldsOf(request))
          if (file === null) throw refuse('NotFound', 'There is no such file.')
          return sendDownload(reply, file)
        }),
      )
    },
    show(path, show) {
      app.get(
        path,
        signedIn(async (_request, reply) => reply.redirect(path.slice(0, path.lastIndexOf('/')), 303)),
      )
      app.post(
        path,
        signedIn(async (request, reply, visit) => {
          checkFormToken(request, visit.formToken)
          return send(reply, await show(guestOf(visit, true), fieldsOf(request)), visit)
        }),
      )
    },
    upload(path, { operation, take, again }) {
      const work = signedIn(async (request, reply, visit) => {
        const guest = guestOf(visit, true)
        allowed(guest, operation)
        const file = await arrivingFile(request)
        checkFormToken(request, visit.formToken)
        try {
          if (file === null) throw new Failure('usage', 'choose the file of an export')
          const { to } = await take(guest, fieldsOf(request), file)
          return reply.redirect(to, 303)
        } catch (error) {
          if (!(error instanceof Failure || error instanceof Refusal)) throw error
          reply.code(error instanceof Failure ? failureStatuses[error.code] : error.status)
          return send(reply, await again(guest, fieldsOf(request), sentence(error.message, file?.name)), visit)
        }
      })
      serveUploads(app, path, work)
    },
    act(path, { section, operation, ask, perform }) {
      const question = async (guest: Guest, request: FastifyRequest, error: string | null): Promise<Content> => {
        const asked = await ask(guest, fieldsOf(request))
        const [action = path] = request.url.split('?', 1)
        const content = confirmation({ ...asked, action, formToken: guest.formToken, error })
        return { title: asked.title, content, section }
      }
      app.get(
        path,
        signedIn(async (request, reply, visit) => {
          const guest = guestOf(visit, true)
          allowed(guest, operation)
          return send(reply, await question(guest, request, null), visit)
        }),
      )
      app.post(
        path,
        signedIn(async (request, reply, visit) => {
          checkFormToken(request, visit.formToken)
          const guest = guestOf(visit, true)
          allowed(guest, operation)
          try {
            const { to, done } = await perform(guest, fieldsOf(request))
            for (const answers of Object.values(common)) answers.forget()
            news.tell(reply, visit, done)
            return reply.redirect(to, 303)
          } catch (error) {
            if (!(error instanceof Failure) || failureStatuses[error.code] >= 500) throw error
            reply.code(failureStatuses[error.code])
            return send(reply, await question(guest, request, sentence(error.message)), visit)
          }
        }),
      )
    },
  }
}

/** Whether a person has a page loaded again: browsers say so by this header. */
function isAgain({ headers }: FastifyRequest): boolean {
  return headers['cache-control'] !== undefined
}

function allowed(guest: Guest, operation: keyof typeof control): void {
  const why = guest.notAllowed(operation)
  if (why !== null) throw new Failure('forbidden', `${capital(why)}.`)
}

/** A failure's message as a sentence of a page. A file that it begins with keeps its name. */
export function sentence(message: string, file = ''): string {
  const isNamed = file !== '' && message.startsWith(file)
  const text = isNamed ? message : capital(message)
  return /[.!?]$/.test(text) ? text : `${text}.`
}

/** A run by the first signs of its id, by which commands know it too. */
export function shortId(runId: string): Html {
  return html`<span class="key" title="${runId}">${runId.slice(0, shortLength)}</span>`
}

const shortLength = 8

function fieldsOf(request: FastifyRequest): Fields {
  const values = Values.safeParse({ ...Object(request.query), ...Object(request.params), ...Object(request.body) })
  return (name) => {
    const value = values.success && Object.hasOwn(values.data, name) ? values.data[name] : undefined
    return typeof value === 'string' ? value.trim() : ''
  }
}
