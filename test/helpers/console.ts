import type { FastifyRequest } from 'fastify'
import { serveConsole } from '../../src/console/serve.ts'
import type { Access } from '../../src/console/site/access.ts'
import { type Caller, machineCaller, type Role, roles } from '../../src/contract/control/access.ts'
import { control, controlPrefix } from '../../src/contract/control/control.ts'
import type { ControlContext } from '../../src/daemon/control/control-context.ts'
import { checkedHandlers } from '../../src/daemon/control/handlers.ts'
import type { ConfigurationReport } from '../../src/daemon/control/settings.ts'
import { type Live, startLive } from '../../src/daemon/live/live.ts'
import { serveLive } from '../../src/daemon/live/serve.ts'
import type { ConnectionSchedule } from '../../src/daemon/schedules/schedules.ts'
import { databaseFailure } from '../../src/database/failures.ts'
import { localCalls } from '../../src/http/client/calls.ts'
import { refuse } from '../../src/http/refusal.ts'
import { createApp } from '../../src/http/server/app.ts'
import { quietAlerts } from './alert-settings.ts'
import type { World } from './world.ts'

const unused = (): never => {
  throw new Error('nothing here asks for the audit trail')
}

/** The cookie by which the console under test knows who is there. */
export const visitorCookie = 'visitor'

/** The console on top of a world. Signing in is left out: a cookie says who is there, as `name.role`. */
export async function openConsole(
  world: World,
  {
    schedules = [],
    access = {},
    configured = quietlyConfigured,
    checkWithinMs = 50_000,
    auditTrouble = null,
    unexpected = (error) => {
      throw error
    },
  }: {
    schedules?: readonly ConnectionSchedule[]
    access?: Partial<Access>
    configured?: ConfigurationReport
    checkWithinMs?: number
    auditTrouble?: string | null
    unexpected?: (error: unknown, route: string) => void
  } = {},
) {
  const context: Omit<ControlContext, 'caller'> = {
    sync: world.sync,
    audit: { seal: async () => {}, verify: unused, replaceKey: unused, trouble: () => auditTrouble },
    schedules,
    configured,
    checkWithinMs,
    alerts: quietAlerts,
    monitored: { connections: ['acme'], sources: [], maxLeaverHours: new Map([['acme', 24]]) },
    about: {
      version: '1.2.3',
      daemon: null,
      configuration: 'rollcall.yaml',
      database: 'PostgreSQL',
      queue: 'database',
      platform: 'http://platform',
    },
    signal: new AbortController().signal,
  }
  const app = await createApp()
  await serveConsole(app, {
    access: { ...noSignIn, find: async (request) => visitOf(request), ...access },
    control: (caller) => localCalls(control, checkedHandlers, { ...context, caller }),
    now: world.sync.now,
    failureOf: databaseFailure,
    unexpected,
  })
  const watched = startLive(world.sync.store.db)
  let listeners = 0
  const live: Live = {
    ...watched,
    async listen(listener) {
      const leave = await watched.listen(listener)
      listeners += 1
      return () => {
        listeners -= 1
        leave()
      }
    },
  }
  serveLive(app, {
    prefix: controlPrefix,
    live,
    connections: world.sync.connections,
    admit: async (request) => {
      const visit = visitOf(request)
      if (visit === null) throw refuse('Unauthorized', 'who is this')
      return visit.caller
    },
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  const own = localCalls(control, checkedHandlers, { ...context, caller: machineCaller('test') })
  const close = async () => {
    await app.close()
    watched[Symbol.dispose]()
  }
  return { app, url, control: own, listeners: () => listeners, [Symbol.asyncDispose]: close }
}

/** A configuration with a setting of each kind, of which a check finds everything that there is to say. */
export const quietlyConfigured: ConfigurationReport = {
  file: '/etc/rollcall/rollcall.yaml',
  changedMs: Date.UTC(2026, 10, 20),
  settings: [
    { path: 'dataDir', connection: null, value: './data', line: null, from: [{ kind: 'default', name: null }] },
    {
      path: 'platform.apiKey',
      connection: null,
      value: null,
      line: 2,
      from: [{ kind: 'secret_file', name: '/run/secrets/key' }],
    },
    {
      path: 'platform.baseUrl',
      connection: null,
      value: '${env:PLATFORM}',
      line: 3,
      from: [{ kind: 'environment', name: 'PLATFORM' }],
    },
    {
      path: 'connections.acme.source.fields.email.column',
      connection: 'acme',
      value: 'Work <Email>',
      line: null,
      from: [{ kind: 'preset', name: 'workday' }],
    },
    {
      path: 'connections.acme.pinned',
      connection: 'acme',
      value: '',
      line: 9,
      from: [{ kind: 'file', name: 'rollcall.yaml' }],
    },
  ],
  async *check() {
    yield { name: 'database', message: 'PostgreSQL', code: null, level: 'ok' }
    yield { name: 'source of acme', message: '2 rejected: no <key>', code: null, level: 'rejected' }
    yield { name: 'platform for acme', message: 'it does not answer', code: 'platform_unreachable', level: 'failed' }
  },
}

const noSignIn: Omit<Access, 'find'> = {
  provider: null,
  isSecure: false,
  canSignIn: async () => true,
  anonymousFormToken: () => 'token of a stranger',
  signIn: async () => ({ status: 401, trouble: 'This token is not known here.' }),
  signOut: async () => {},
}

function visitOf({ headers }: FastifyRequest): { caller: Caller; formToken: string } | null {
  const [, name, role] = /(?:^|; )visitor=(\w+)\.(\w+)/.exec(headers.cookie ?? '') ?? []
  if (name === undefined || !isRole(role)) return null
  return { caller: { name, role, via: 'token', principal: `token:${name}` }, formToken: `token of ${name}` }
}

function isRole(text: string | undefined): text is Role {
  return roles.some((role) => role === text)
}

/** Someone who asks for pages over HTTP, and follows no redirect. `who`: as the cookie says it; null: a stranger. */
export function createVisitor(url: string, who: string | null) {
  const cookies = new Map<string, string>(who === null ? [] : [[visitorCookie, who]])
  const ask = async (path: string, init: RequestInit) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ')
    const headers = { accept: 'text/html', ...(cookie && { cookie }), ...init.headers }
    const response = await fetch(url + path, { ...init, redirect: 'manual', headers })
    for (const line of response.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(line) ?? []
      if (value === '') cookies.delete(name)
      else cookies.set(name, value)
    }
    const { status, headers: answered } = response
    return { status, headers: answered, location: answered.get('location'), text: await response.text() }
  }
  return {
    cookies,
    /** Asks for what is there now, as a browser does that loads a page again. */
    get: (path: string, headers: Readonly<Record<string, string>> = {}) =>
      ask(path, { headers: { 'cache-control': 'max-age=0', ...headers } }),
    /** Asks for what may be shared with others, as a browser does that follows a link. */
    follow: (path: string) => ask(path, {}),
    post: (path: string, fields: Readonly<Record<string, string>>) =>
      ask(path, { method: 'POST', body: new URLSearchParams(fields) }),
  }
}
