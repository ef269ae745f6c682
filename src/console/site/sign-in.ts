import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { field } from '../../http/server/form-tokens.ts'
import type { Html } from '../../web/html.ts'
import type { Access, NotSignedIn } from './access.ts'
import { signInPage } from './sign-in-view.ts'

type Parts = {
  readonly access: Access
  /** Sends a page to a visitor who is not signed in. */
  readonly send: (reply: FastifyReply, page: { readonly title: string; readonly content: Html }) => FastifyReply
}

const title = 'Sign in'

/** Adds the routes to sign in and out. The scope has to parse forms and cookies. */
export function signInRoutes(scope: FastifyInstance, { access, send }: Parts): void {
  const show = async (
    request: FastifyRequest,
    reply: FastifyReply,
    { to, refused = null }: { to: string; refused?: NotSignedIn | null },
  ): Promise<FastifyReply> => {
    const { status, trouble, retryAfterSeconds } = refused ?? { status: 200, trouble: null }
    if (retryAfterSeconds !== undefined) reply.header('retry-after', String(retryAfterSeconds))
    const content = signInPage({
      to,
      trouble,
      formToken: access.anonymousFormToken(reply),
      provider: access.provider?.name ?? null,
      canSignIn: await access.canSignIn(),
      isOut: refused === null && queryOf(request, 'out') !== '',
    })
    return send(reply.code(status), { title, content })
  }

  scope.get('/sign-in', async (request, reply) => {
    const to = ownPath(queryOf(request, 'to'))
    if (await access.find(request, { isUse: true })) return reply.redirect(to, 303)
    return await show(request, reply, { to })
  })

  scope.post('/sign-in', async (request, reply) => {
    const to = ownPath(field(request, 'to'))
    const refused = await access.signIn(request, reply)
    return refused === null ? reply.redirect(to, 303) : await show(request, reply, { to, refused })
  })

  scope.post('/sign-out', async (request, reply) => {
    await access.signOut(request, reply)
    return reply.redirect('/sign-in?out=1', 303)
  })

  const { provider } = access
  if (provider === null) return

  // A link, not a form: the content security policy of our pages forbids forms that lead to another site.
  scope.get('/sign-in/provider', async (request, reply) => {
    const to = ownPath(queryOf(request, 'to'))
    const begun = await provider.begin(request, reply, to)
    return begun instanceof URL ? reply.redirect(begun.href, 303) : await show(request, reply, { to, refused: begun })
  })

  scope.get('/sign-in/callback', async (request, reply) => {
    const finished = await provider.finish(request, reply)
    if ('to' in finished) return reply.redirect(ownPath(finished.to), 303)
    return await show(request, reply, { to: '/', refused: finished })
  })
}

const origin = 'http://rollcall.invalid'

/**
 * A path of this site, because any other would lead people to another site after signing in. The path is resolved once more, as a browser
 * does: `/.//evil.example` becomes `//evil.example` by the first time, and another host by the second.
 */
function ownPath(to: string): string {
  const url = to.startsWith('/') ? URL.parse(to, origin) : null
  if (url?.origin !== origin || /^\/sign-(?:in|out)\b/.test(url.pathname)) return '/'
  const path = `${url.pathname}${url.search}`
  return URL.parse(path, origin)?.href === `${origin}${path}` ? path : '/'
}

function queryOf(request: FastifyRequest, name: string): string {
  const value: unknown = Object(request.query)[name]
  return typeof value === 'string' ? value : ''
}
