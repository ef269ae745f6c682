import type { Readable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import type { Html } from './html.ts'

/**
 * The headers of every page. No page has an inline script or style, and none is framed. With `scripts` it loads our scripts, which request
 * parts of pages; without it no script runs at all.
 */
export function pageHeaders({ scripts }: { readonly scripts: boolean }): Readonly<Record<string, string>> {
  const policy = [
    "default-src 'none'",
    ...(scripts ? ["script-src 'self'"] : []),
    "style-src 'self'",
    "img-src 'self'",
    ...(scripts ? ["connect-src 'self'"] : []),
    "form-action 'self'",
    "base-uri 'none'",
    "frame-ancestors 'none'",
  ]
  return {
    'cache-control': 'no-store',
    'content-security-policy': policy.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'cross-origin-resource-policy': 'same-origin',
    'referrer-policy': 'same-origin',
    'x-content-type-options': 'nosniff',
    'x-frame-options': 'DENY',
  }
}

/** A file download. A stream is sent as it is read; an error in it breaks the download off. */
export type Download = { readonly name: string; readonly type: string; readonly content: Buffer | Readable }

/** Sends a file to save. */
export function sendDownload(reply: FastifyReply, { name, type, content }: Download): FastifyReply {
  return reply.type(type).header('content-disposition', `attachment; filename="${name}"`).send(content)
}

/** Sends a page or a part of one. */
export function sendPage(reply: FastifyReply, page: Html): FastifyReply {
  return reply.type('text/html; charset=utf-8').send(page.toString())
}
