import type { FastifyInstance } from 'fastify'
import { refuse } from '../refusal.ts'

/**
 * Refuses a request that names two hosts: in two `Host` headers, or in its first line and in the header. A proxy might check one of them
 * and this server the other.
 */
export function refuseTwoHosts(app: FastifyInstance): void {
  app.addHook('onRequest', async ({ raw }) => {
    const hosts = raw.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
    if (hosts.length > 1) throw refuse('MalformedRequest', 'the request has more than one Host')
    const target = raw.url ?? '/'
    if (target.startsWith('/') || target === '*') return
    if (URL.parse(target)?.host !== URL.parse(`http://${raw.headers.host}/`)?.host)
      throw refuse('MalformedRequest', 'the request names another host than its Host')
  })
}
