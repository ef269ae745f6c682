import type { CookieSerializeOptions } from '@fastify/cookie'
import cookie from '@fastify/cookie'
import type { Provider } from '../../../src/console/site/access.ts'
import { signInRoutes } from '../../../src/console/site/sign-in.ts'
import { createAttempts } from '../../../src/daemon/access/attempts.ts'
import { createTokenCheck } from '../../../src/daemon/access/tokens.ts'
import { type Begin, type CookieNames, createAccess } from '../../../src/daemon/access/visits.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { acceptPageForms } from '../../../src/http/server/forms.ts'
import { guardHosts } from '../../../src/http/server/hosts.ts'
import type { Db } from '../../../src/store/schema.ts'
import { silentEvents } from '../../../src/telemetry/events.ts'

export type ConsoleOptions = {
  readonly db: Db
  readonly now: () => Date
  readonly configured?: string | null
  readonly publicUrl?: URL | null
  readonly idleMinutes?: number
  readonly provider?: (begin: Begin, options: CookieSerializeOptions, names: CookieNames) => Provider | null
}

/** A console of one page, which says who is signed in, and the pages for signing in. */
export async function openConsole({
  db,
  now,
  configured = null,
  publicUrl = null,
  idleMinutes = 60,
  provider,
}: ConsoleOptions) {
  const reported: unknown[] = []
  const attempts = createAttempts(silentEvents((event) => reported.push(event)))
  const access = createAccess(
    {
      db,
      now,
      limits: { idleMinutes, hours: 12 },
      isSecure: publicUrl?.protocol === 'https:',
      hasConfigured: configured !== null,
      checkToken: createTokenCheck({ db, now, configured }),
      attempts,
    },
    provider,
  )
  const app = await createApp()
  guardHosts(app, { names: ['rollcall.test'], publicUrl })
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    acceptPageForms(scope, 16 * 1024)
    await scope.register(cookie)
    scope.get('/', async (request, reply) => {
      const visit = await access.find(request, { isUse: true })
      if (visit) return { ...visit.caller, formToken: visit.formToken }
      return await reply.redirect('/sign-in', 303)
    })
    scope.get('/part', async (request) => ({ isKnown: (await access.find(request, { isUse: false })) !== null }))
    signInRoutes(scope, {
      access,
      send: (reply, { content }) => reply.type('text/html').send(content.toString()),
    })
  })
  return {
    app,
    reported,
    visitor: () => newVisitor(app),
    [Symbol.asyncDispose]: async () => {
      attempts[Symbol.dispose]()
      await app.close()
    },
  }
}

type App = Awaited<ReturnType<typeof createApp>>
export type Visitor = ReturnType<typeof newVisitor>

/** A browser that keeps cookies. */
function newVisitor(app: App) {
  const cookies = new Map<string, string>()
  const lines: string[] = []
  async function send(method: 'GET' | 'POST', url: string, form?: Record<string, string>) {
    const answer = await app.inject({
      method,
      url,
      headers: {
        host: 'rollcall.test',
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; '),
        ...(form && { 'content-type': 'application/x-www-form-urlencoded' }),
      },
      ...(form && { body: new URLSearchParams(form).toString() }),
    })
    for (const line of [answer.headers['set-cookie'] ?? []].flat()) {
      lines.push(line)
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    return { status: answer.statusCode, location: answer.headers.location, text: answer.body, headers: answer.headers }
  }
  async function signIn(access: string, { to = '/', token }: { to?: string; token?: string } = {}) {
    const page = await send('GET', `/sign-in?to=${encodeURIComponent(to)}`)
    const [, own = ''] = /name="token" value="([^"]*)"/.exec(page.text) ?? []
    return await send('POST', '/sign-in', { access, to, token: token ?? own })
  }
  return {
    cookies,
    /** Every Set-Cookie header that was received. */
    lines,
    get: (url: string) => send('GET', url),
    post: (url: string, form: Record<string, string>) => send('POST', url, form),
    signIn,
    /** Whom the console shows as signed in; null: no one. */
    async who(): Promise<Record<string, string> | null> {
      const { status, text } = await send('GET', '/')
      return status === 200 ? JSON.parse(text) : null
    },
    async signOut() {
      const { formToken: token = '' } = (await this.who()) ?? {}
      return await send('POST', '/sign-out', { token })
    },
  }
}
