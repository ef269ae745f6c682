import { platformExamples } from '../../contract/platform/examples.ts'
import { platformAreas, platformPrefix } from '../../contract/platform/platform.ts'
import { openapi } from '../../http/openapi.ts'
import { introduction } from './introduction.ts'

/** The OpenAPI document of the public API, with examples as of `now`. `servers` are its base addresses; by default the path alone. */
export function platformDocument(now: Date, servers: readonly string[] = []) {
  return openapi(platformAreas, {
    title: 'Compliance Management Public API',
    version: '2',
    description: introduction,
    isLimited: true,
    examples: platformExamples(now),
    servers: servers.length > 0 ? servers : [platformPrefix],
  })
}
