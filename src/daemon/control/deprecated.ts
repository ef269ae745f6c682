import type { FastifyInstance } from 'fastify'
import { control } from '../../contract/control/control.ts'
import { type MountOptions, mount } from '../../http/server/mount.ts'
import type { ControlContext } from './control-context.ts'
import { refusingHandlers } from './refusals.ts'

/** When the old paths were replaced, as the header `Deprecation` states it (RFC 9745). */
const deprecatedSince = `@${Date.UTC(2026, 10, 27) / 1000}`

/** Deprecated: removed after 0.1. Serves operations at their old paths too; the answers have the header `Deprecation`. */
export function serveDeprecatedPaths(app: FastifyInstance, options: MountOptions<ControlContext>): void {
  const { listBlockedPeople } = control
  const oldPath: string = '/unserved'
  // The path is the only difference, and no type of a handler depends on it.
  const listBlockedPeopleAtOldPath = { ...listBlockedPeople, path: oldPath as typeof listBlockedPeople.path }
  const successor = `<${options.prefix}${listBlockedPeople.path}>; rel="successor-version"`
  app.register(async (scope) => {
    scope.addHook('onRequest', async (_request, reply) => {
      reply.headers({ deprecation: deprecatedSince, link: successor })
    })
    mount(
      scope,
      { listBlockedPeopleAtOldPath },
      { listBlockedPeopleAtOldPath: refusingHandlers.listBlockedPeople },
      options,
    )
  })
}
