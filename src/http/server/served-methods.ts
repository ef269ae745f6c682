import type { FastifyInstance } from 'fastify'

/** Returns a function that lists the methods of a path, among all routes that are added to `app` from now on. */
export function rememberRoutes(app: FastifyInstance): (url: string) => string[] {
  const routes = new Map<string, Set<string>>()
  app.addHook('onRoute', ({ url, method }) => {
    const methods = routes.get(url) ?? new Set()
    for (const one of [method].flat()) methods.add(one)
    routes.set(url, methods)
  })
  return (url) => {
    const path = segmentsOf(url)
    const matching = [...routes].filter(([pattern]) => leadsTo(pattern.split('/'), path))
    return [...new Set(matching.flatMap(([, methods]) => [...methods]))].sort()
  }
}

function leadsTo(pattern: readonly string[], path: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*'
  const fixed = isOpen ? pattern.slice(0, -1) : pattern
  if (isOpen ? path.length < pattern.length : path.length !== pattern.length) return false
  return fixed.every((part, index) => (part.startsWith(':') ? path[index] !== '' : part === path[index]))
}

function segmentsOf(url: string): string[] {
  const [path = ''] = url.split(/[?#]/, 1)
  return path.split('/').map(decodeSegment)
}

function decodeSegment(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch {
    return segment
  }
}
