import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { compressed } from '../../http/server/app.ts'

export const referencePath = '/reference'

// The page draws itself with one script of ours and fetches nothing but the document, also where it would like to.
const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  'font-src data:',
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Serves the OpenAPI document at `documentPath` as a page that people read, to which `/` leads. */
export function serveReferencePage(app: FastifyInstance, documentPath: string): void {
  let pages: Promise<FastifyInstance> | null = null
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    pages ??= openPages(documentPath)
    const page = await (await pages).inject({ method: 'GET', url: request.url })
    return reply.code(page.statusCode).headers(page.headers).send(page.rawPayload)
  }
  app.get('/', async (_request, reply) => reply.redirect(`${referencePath}/`))
  app.get(referencePath, { compress: compressed }, answer)
  app.get(`${referencePath}/*`, { compress: compressed }, answer)
}

// The script inside is larger than all of the platform, so it is loaded for the first reader and not at every start.
async function openPages(documentPath: string): Promise<FastifyInstance> {
  const { default: apiReference } = await import('@scalar/fastify-api-reference')
  const pages = Fastify()
  pages.addHook('onSend', async (_request, reply) => {
    reply.headers({
      'content-security-policy': contentSecurityPolicy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
  })
  await pages.register(apiReference, {
    routePrefix: referencePath,
    configuration: {
      url: documentPath,
      pageTitle: 'Compliance Management Public API',
      layout: 'modern',
      theme: 'default',
      withDefaultFonts: false,
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  })
  return pages
}
