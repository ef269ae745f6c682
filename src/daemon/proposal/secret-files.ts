import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { writeSecret } from './first-configuration.ts'

/** A secret that a person gave, the file that it will be written into, and the reference to that file. */
export type SecretToWrite = { readonly file: string; readonly secret: string; readonly reference: string }

/** Secrets by the settings of the source that they become. */
export type SecretsToWrite = ReadonlyMap<string, SecretToWrite>

type SecretPlace = { readonly folder: string; readonly name: string }
type GivenSecret = { readonly setting: string; readonly secret: string }

/** The file of a secret beside the configuration, named after the connection and the setting. */
export function secretFile({ folder, name }: SecretPlace, { setting, secret }: GivenSecret): SecretToWrite {
  const file = `${name}-${setting.split('.').slice(-2).join('-')}.secret`
  return { file: join(folder, file), secret, reference: `\${file:${file}}` }
}

/** Writes each secret into its file. `undoing` removes them. */
export async function writeSecrets(secrets: SecretsToWrite, undoing: AsyncDisposableStack): Promise<void> {
  for (const { file, secret } of secrets.values()) {
    await writeSecret(file, secret)
    undoing.defer(() => rm(file, { force: true }))
  }
}
