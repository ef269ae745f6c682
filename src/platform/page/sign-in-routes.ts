import type { FastifyInstance } from 'fastify'
import { field } from '../../http/server/form-tokens.ts'
import { pluralize } from '../../web/words.ts'
import { beginSession, endSession } from '../operators/sessions.ts'
import type { Send } from './layout.ts'
import { pagePrefix } from './query.ts'
import { createSignInLimit } from './sign-in-limit.ts'
import { signInForm } from './sign-in-view.ts'
import type { VisitOptions, Visits } from './visits.ts'

type Parts = Pick<VisitOptions, 'db' | 'now'> & { readonly visits: Visits; readonly send: Send }

const title = 'Sign in'
const minuteSeconds = 60

/** The routes to sign in and out. */
export function signInRoutes(page: FastifyInstance, { db, now, visits, send }: Parts): void {
  const limit = createSignInLimit()

  page.get('/sign-in', async (request, reply) => {
    if (await visits.find(request)) return reply.redirect(pagePrefix, 303)
    const formToken = visits.anonymousFormToken(reply)
    return send(reply, { title, content: signInForm({ formToken }) }, null)
  })

  page.post('/sign-in', async (request, reply) => {
    visits.checkAnonymousForm(request)
    const [name, password] = [field(request, 'name').trim(), field(request, 'password')]
    const refuse = (status: number, problem: string) => {
      const formToken = visits.anonymousFormToken(reply)
      return send(reply.code(status), { title, content: signInForm({ formToken, name, problem }) }, null)
    }
    const attempt = { name, address: request.ip }
    const waitSeconds = await limit.take(attempt)
    if (waitSeconds !== null) {
      const minutes = Math.ceil(waitSeconds / minuteSeconds)
      reply.header('retry-after', String(waitSeconds))
      return refuse(429, `Too many attempts. Try again in ${pluralize(minutes, 'minute')}.`)
    }
    const token = await beginSession(db, { name, password }, now())
    if (token === null) return refuse(401, 'The name or the password is wrong.')
    await limit.giveBack(attempt)
    visits.signIn(reply, token)
    return reply.redirect(pagePrefix, 303)
  })

  page.post('/sign-out', async (request, reply) => {
    const visit = await visits.find(request)
    if (visit) {
      visits.checkForm(request, visit)
      await endSession(db, visit.token)
      visits.signOut(reply)
    }
    return reply.redirect(`${pagePrefix}/sign-in`, 303)
  })
}
