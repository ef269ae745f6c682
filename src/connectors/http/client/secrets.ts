import type { z } from 'zod'
import type { ConnectorContext } from '../../connector.ts'
import { unreadable } from '../../file/failures.ts'

/** The secret at a path below the settings of the source. Throws if it is not set. */
export async function readSecret(context: Pick<ConnectorContext, 'secret'>, path: string): Promise<string> {
  const secret = context.secret(path)
  if (!secret) throw unreadable(`the secret ${path} is missing`, 'name it in the configuration')
  return secret.read()
}

/** A secret that a header can carry. */
export async function readHeaderSecret(context: Pick<ConnectorContext, 'secret'>, path: string): Promise<string> {
  const text = await readSecret(context, path)
  if (/^[\x20-\x7e]+$/.test(text)) return text
  throw unreadable(
    `the secret ${path} is empty or holds characters that no header can carry`,
    'check its file for line ends',
  )
}

/** JSON of the configuration, in which every text may be a secret. */
export type ConfiguredJson = z.core.util.JSONType

/** The value with the secrets in it, which stand in the place of texts. `path`: where the value is below the settings of the source. */
export async function withSecrets(
  context: Pick<ConnectorContext, 'secret'>,
  path: string,
  value: ConfiguredJson,
): Promise<ConfiguredJson> {
  if (typeof value === 'string') return (await context.secret(path)?.read()) ?? value
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value))
    return await Promise.all(value.map((member, index) => withSecrets(context, `${path}.${index}`, member)))
  const members = Object.entries(value).map(
    async ([name, member]) => [name, await withSecrets(context, `${path}.${name}`, member)] as const,
  )
  return Object.fromEntries(await Promise.all(members))
}
