import type { ConnectorContext } from '../../connector.ts'
import { readHeaderSecret, readSecret } from '../client/secrets.ts'
import type { HttpSource } from '../settings/settings.ts'

/** The headers of `bearer`, `basic` or `apiKey`; none without them. Secrets are read for every request, so that a replaced file takes effect. */
export async function staticHeaders(source: HttpSource, context: ConnectorContext): Promise<Record<string, string>> {
  const { basic, bearer, apiKey } = source
  if (bearer !== undefined) return { authorization: `Bearer ${await readHeaderSecret(context, 'bearer')}` }
  if (apiKey) return { [apiKey.header.toLowerCase()]: await readHeaderSecret(context, 'apiKey.value') }
  if (!basic) return {}
  // Some systems expect their key as the user name, which is then a secret.
  const username = (await context.secret('basic.username')?.read()) ?? basic.username
  const pair = `${username}:${await readSecret(context, 'basic.password')}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}
