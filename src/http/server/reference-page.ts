import { createHash } from 'node:crypto'
import Fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify'
import { Refusal } from '../refusal.ts'
import { compressed } from './app.ts'

/** The path of the page that shows the document. */
export const referencePath = '/reference'

type ReferenceOptions = {
  /** Where the OpenAPI document is served. */
  readonly documentPath: string
  readonly title: string
  /** Throws a refusal for callers who may not read it. Left out: everybody may. */
  readonly admit?: (request: FastifyRequest) => Promise<unknown>
  /** Where a browser without a session is redirected. Left out: it is refused like a program. */
  readonly signIn?: string
}

/** Serves an OpenAPI document as a page that people read. */
export function serveReferencePage(
  app: FastifyInstance,
  { documentPath, title, admit, signIn }: ReferenceOptions,
): void {
  let pages: Promise<FastifyInstance> | null = null
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    pages ??= openPages(documentPath, title)
    const page = await (await pages).inject({ method: 'GET', url: request.url })
    return reply.code(page.statusCode).headers(page.headers).send(page.rawPayload)
  }
  const options = {
    compress: compressed,
    onRequest: async (request: FastifyRequest, reply: FastifyReply) => {
      try {
        await admit?.(request)
      } catch (error) {
        if (signIn === undefined || !isUnknown(error) || !looksForPage(request)) throw error
        return reply.redirect(`${signIn}?${new URLSearchParams({ to: `${referencePath}/` })}`, 303)
      }
    },
  }
  app.get(referencePath, options, answer)
  app.get(`${referencePath}/*`, options, answer)
}

function isUnknown(error: unknown): boolean {
  return error instanceof Refusal && error.status === 401
}

function looksForPage({ headers }: FastifyRequest): boolean {
  return headers.authorization === undefined && (headers.accept?.includes('text/html') ?? false)
}

// Its script is larger than all of ours, so it is loaded for the first reader and not at every start.
async function openPages(documentPath: string, pageTitle: string): Promise<FastifyInstance> {
  const { default: apiReference } = await import('@scalar/fastify-api-reference')
  const pages = Fastify()
  let policy = ''
  pages.addHook('onSend', async (_request, reply) => {
    reply.headers({
      'content-security-policy': policy,
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
    })
  })
  await pages.register(apiReference, {
    routePrefix: referencePath,
    configuration: {
      url: documentPath,
      pageTitle,
      layout: 'modern',
      theme: 'default',
      withDefaultFonts: false,
      // The page would break the words of a narrow first column, such as "Status".
      customCss: '.markdown th, .markdown td:first-child { white-space: nowrap }',
      telemetry: false,
      hideClientButton: true,
      showDeveloperTools: 'never',
      agent: { disabled: true },
      mcp: { disabled: true },
    },
  })
  const page = await pages.inject({ method: 'GET', url: `${referencePath}/` })
  policy = contentSecurityPolicy(page.body)
  return pages
}

/**
 * The page runs one script of ours and may fetch nothing but the document. Inline scripts run only if their digest is listed. Styles are
 * allowed without a digest, because the script creates them at run time.
 */
function contentSecurityPolicy(page: string): string {
  const scripts = [...page.matchAll(/<script(?![^>]*\ssrc=)[^>]*>(.*?)<\/script>/gs)].map(
    ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
  )
  return [
    "default-src 'none'",
    `script-src 'self' ${scripts.join(' ')}`,
    "style-src 'self' 'unsafe-inline'",
    "img-src 'self' data:",
    'font-src data:',
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}
