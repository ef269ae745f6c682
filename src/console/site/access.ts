import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../contract/control/access.ts'

/** A person who is signed in, and what shows that a form of theirs came from a page of ours. */
export type Visitor = { readonly caller: Caller; readonly formToken: string }

type Visits = {
  /** Who is signed in; null: no one. `isUse`: whether the request shows that a person is there, so that the session goes on. */
  find(request: FastifyRequest, how: { readonly isUse: boolean }): Promise<Visitor | null>
}

/** Why somebody was not signed in, for the person to read. */
export type NotSignedIn = { readonly status: number; readonly trouble: string; readonly retryAfterSeconds?: number }

/** How people get in and out. */
export type Access = Visits & {
  /** Whether people reach the pages over HTTPS, so that cookies travel over HTTPS alone. */
  readonly isSecure: boolean
  /** Whether anything lets anybody in yet. */
  canSignIn(): Promise<boolean>
  /** Signs in by a provider of identities; null: there is none. */
  readonly provider: Provider | null
  /** What the form of a visitor carries who is not signed in. */
  anonymousFormToken(reply: FastifyReply): string
  /** Signs in by the token that the form has; null: done. */
  signIn(request: FastifyRequest, reply: FastifyReply): Promise<NotSignedIn | null>
  /** Ends the session that the request belongs to. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

export type Provider = {
  /** What the button says behind "Sign in with". */
  readonly name: string
  /** Where to send the browser, which is to come back to `to` once it is signed in. */
  begin(request: FastifyRequest, reply: FastifyReply, to: string): Promise<URL | NotSignedIn>
  /** Signs in whom the provider has sent back, and answers where the person desired to go. */
  finish(request: FastifyRequest, reply: FastifyReply): Promise<{ readonly to: string } | NotSignedIn>
}
