import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../../contract/control/access.ts'

/** A person who is signed in, and the token that protects their forms against forgery (CSRF). */
export type Visitor = { readonly caller: Caller; readonly formToken: string }

type Visits = {
  /** The visitor who sends this request; null if nobody is signed in. `isUse`: the request prolongs the session. */
  find(request: FastifyRequest, how: { readonly isUse: boolean }): Promise<Visitor | null>
}

/** Why a sign-in failed, as a sentence for the person. */
export type NotSignedIn = { readonly status: number; readonly trouble: string; readonly retryAfterSeconds?: number }

/** Signs people in and out. */
export type Access = Visits & {
  /** Whether the pages are served over HTTPS, so that cookies are sent over HTTPS only. */
  readonly isSecure: boolean
  /** Whether anybody can sign in: there is a token or a provider. */
  canSignIn(): Promise<boolean>
  /** The identity provider; null if none is configured. */
  readonly provider: Provider | null
  /** The form token for somebody who is not signed in. */
  anonymousFormToken(reply: FastifyReply): string
  /** Signs in with the access token of the form; null on success. */
  signIn(request: FastifyRequest, reply: FastifyReply): Promise<NotSignedIn | null>
  /** Ends the session of the request. */
  signOut(request: FastifyRequest, reply: FastifyReply): Promise<void>
}

/** An identity provider, such as an OpenID Connect server. */
export type Provider = {
  /** The name on the button, after "Sign in with". */
  readonly name: string
  /** The address to redirect the browser to. After signing in, the browser returns to `to`. */
  begin(request: FastifyRequest, reply: FastifyReply, to: string): Promise<URL | NotSignedIn>
  /** Completes the sign-in after the provider redirected the browser back; returns the page that the person wanted. */
  finish(request: FastifyRequest, reply: FastifyReply): Promise<{ readonly to: string } | NotSignedIn>
}
