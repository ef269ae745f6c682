import type { ConnectorContext } from '../../connector.ts'
import type { HttpSource } from '../settings/settings.ts'
import type { HttpRequest } from './request.ts'
import { type ConfiguredJson, withSecrets } from './secrets.ts'

const acceptedTypes = {
  json: 'application/json',
  csv: 'text/csv, */*;q=0.5',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet, */*;q=0.5',
}

/** The settings of a request. `at`: where its body is below the settings of the source. */
type RequestSettings = Pick<HttpSource, 'method' | 'format'> & { readonly body?: ConfiguredJson; readonly at: string }

/** Makes the requests of one list. `body` replaces the configured one. */
export type RequestMaker = (request: {
  readonly url: URL
  readonly label: string
  readonly body?: ConfiguredJson
}) => HttpRequest

/** Makes requests with the method and body of the settings. The secrets in the body are read once. */
export async function requestMaker(
  settings: RequestSettings,
  context: Pick<ConnectorContext, 'secret'>,
): Promise<RequestMaker> {
  const { method, format, at } = settings
  const configured = settings.body === undefined ? undefined : await withSecrets(context, at, settings.body)
  return ({ url, label, body = configured }) => {
    const content = body === undefined ? undefined : { type: 'application/json', text: JSON.stringify(body) }
    return { url, label, method, accept: acceptedTypes[format], body: content }
  }
}
