import type { FastifyReply } from 'fastify'
import type { Caller } from '../../contract/control/access.ts'
import type { control } from '../../contract/control/control.ts'
import type { Failure } from '../../errors.ts'
import type { Confirmation } from '../../web/forms.ts'
import type { Html } from '../../web/html.ts'
import type { Download } from '../../web/send.ts'
import type { Access, Visitor } from './access.ts'
import type { Control } from './control.ts'
import type { Content, Section } from './frame.ts'
import type { ArrivingFile } from './upload.ts'

/** What the console needs from the daemon. */
export type SiteOptions = {
  /** Signs people in and finds out who sends a request. */
  readonly access: Access
  /** The control API for a caller; it refuses what the role of the caller does not allow. `left`: aborted when the browser has left. */
  readonly control: (caller: Caller, left: () => AbortSignal) => Control
  readonly now: () => Date
  /** The failure behind an error that was thrown without a code, such as a lost database connection; null if it is a bug. */
  readonly failureOf: (error: unknown) => Failure | null
  /** Called with each bug. */
  readonly unexpected: (error: unknown, route: string) => void
}

/** Sends a page. `done`: what the visitor has just done, as a sentence; null: nothing. */
export type Send = (
  reply: FastifyReply,
  content: Content,
  visitor: Visitor | null,
  done?: string | null,
) => FastifyReply

/** What a page may use that everybody with the same role shares. */
export type SharedContext = {
  readonly control: Control
  readonly now: Date
  /** Why the visitor may not call this operation; null if they may. */
  readonly notAllowed: (operation: keyof typeof control) => string | null
}

/** What a page for one visitor may use. */
export type PageContext = SharedContext & {
  readonly caller: Caller
  readonly formToken: string
}

/** A page, a redirect, or null if there is no such page. */
export type PageResult = Content | { readonly to: string } | null

/** The value of a field in the address or the form; empty if there is none. */
export type Fields = (name: string) => string

/** An action of a visitor: a page at an address asks for confirmation, and a form sent to the same address performs it. */
export type Action = {
  readonly section: Section
  /** The operation of the control API that it calls. */
  readonly operation: keyof typeof control
  /** The question: what will happen, and the fields to fill in. Asked again with the same values if the action fails. */
  readonly ask: (context: PageContext, fields: Fields) => Promise<Omit<Confirmation, 'formToken' | 'action' | 'error'>>
  /** Performs the action. `to`: the next page. `done`: a sentence about what was done. Content is a page that can be shown only once. */
  readonly perform: (
    context: PageContext,
    fields: Fields,
  ) => Promise<{ readonly to: string; readonly done: string } | Content>
}

/** A form with a file. */
export type UploadForm = {
  /** The operation of the control API that it calls. */
  readonly operation: keyof typeof control
  /** Reads the file while it arrives. `to`: the next page. */
  readonly receive: (context: PageContext, fields: Fields, file: ArrivingFile) => Promise<{ readonly to: string }>
  /** The page with the form, and the reason why the file was refused. */
  readonly askAgain: (context: PageContext, fields: Fields, reason: string) => Promise<Content>
}

/** Adds routes to the console, one by each call. */
export type Site = {
  page(path: string, show: (context: PageContext, fields: Fields) => Promise<PageResult>): void
  /**
   * A page without personal values, since each look at those would be recorded. Everybody with the same role shares it for up to a
   * second. A visitor who has just done something, or who loads the page again, gets a new one.
   */
  sharedPage(path: string, show: (context: SharedContext, fields: Fields) => Promise<PageResult>): void
  /** A part of a page that the browser asks for again and again. If it is null, the browser reloads the whole page. */
  part(path: string, show: (context: PageContext, fields: Fields) => Promise<Html | null>): void
  /** A part that is shared in the same way as a shared page. */
  sharedPart(path: string, show: (context: SharedContext, fields: Fields) => Promise<Html | null>): void
  action(path: string, action: Action): void
  upload(path: string, form: UploadForm): void
  /** A page that answers a form which changes nothing. A GET request for it is redirected to the page above it. */
  resultPage(path: string, show: (context: PageContext, fields: Fields) => Promise<Content>): void
  /** A download; null if there is no such file. */
  file(path: string, show: (context: PageContext, fields: Fields) => Promise<Download | null>): void
}
