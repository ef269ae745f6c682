import { createHash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { basename, extname } from 'node:path'
import type { FastifyCompressOptions } from '@fastify/compress'
import type { FastifyInstance } from 'fastify'

/** The files that pages need. What comes from a package is served as the package has it. */
const files = {
  'style.css': { at: new URL('style.css', import.meta.url), type: 'text/css; charset=utf-8' },
  'icon.svg': { at: new URL('icon.svg', import.meta.url), type: 'image/svg+xml' },
  'live.js': { at: new URL('live.js', import.meta.url), type: 'text/javascript; charset=utf-8' },
  'local-time.js': { at: new URL('local-time.js', import.meta.url), type: 'text/javascript; charset=utf-8' },
  'htmx-sse.js': {
    at: new URL(import.meta.resolve('htmx.org/dist/ext/hx-sse.min.js')),
    type: 'text/javascript; charset=utf-8',
  },
  'htmx.js': { at: new URL(import.meta.resolve('htmx.org/dist/htmx.min.js')), type: 'text/javascript; charset=utf-8' },
} as const

/** A file that pages can load. */
export type AssetName = keyof typeof files

/** The served files. */
export type Assets = {
  /** The address of a file. It holds a digest of the content, so that browsers keep the file for ever. */
  href(name: AssetName): string
}

const yearSeconds = 365 * 24 * 60 * 60
const digestLength = 16
const headers = {
  'cache-control': `public, max-age=${yearSeconds}, immutable`,
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
}
const compress: FastifyCompressOptions = { threshold: 1024, encodings: ['br', 'gzip', 'deflate'] }

/** Serves these files below `prefix` to everybody. Each has one address and nothing else is there, so that no path leads elsewhere. */
export async function serveAssets(
  app: FastifyInstance,
  { prefix, names }: { readonly prefix: string; readonly names: readonly AssetName[] },
): Promise<Assets> {
  const read = await Promise.all(names.map(async (name) => ({ name, content: await readFile(files[name].at) })))
  const hrefs = new Map<AssetName, string>()
  for (const { name, content } of read) {
    const path = `/assets/${addressed(name, content)}`
    hrefs.set(name, prefix + path)
    app.get(path, { compress }, async (_request, reply) => reply.headers(headers).type(files[name].type).send(content))
  }
  return {
    href(name) {
      const href = hrefs.get(name)
      if (href === undefined) throw new Error(`${name} is not served here`)
      return href
    },
  }
}

function addressed(name: AssetName, content: Buffer): string {
  const digest = createHash('sha256').update(content).digest('hex').slice(0, digestLength)
  const end = extname(name)
  return `${basename(name, end)}.${digest}${end}`
}
