import type { ConnectorContext } from '../../connector.ts'
import type { Authorizer } from '../client/request.ts'
import type { HttpSource } from '../settings/settings.ts'
import { staticHeaders } from './static.ts'

/** The credentials of a source. */
export function openAuthorizer(source: HttpSource, context: ConnectorContext): Authorizer {
  return { headers: () => staticHeaders(source, context) }
}
