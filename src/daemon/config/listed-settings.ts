import type { Setting } from '../../contract/control/settings.ts'
import type { Mapping } from '../../identity/mapping/mapping.ts'
import type { ConfigDocument } from './document.ts'
import { effectiveSettings } from './effective-settings.ts'
import { regions } from './platform-settings.ts'
import type { Presets } from './presets.ts'
import type { ConfigFile } from './schema.ts'
import { secretNames } from './secret-settings.ts'
import type { CheckedConnection } from './to-connection.ts'
import { textAt } from './values.ts'

type ListingContext = { readonly document: ConfigDocument; readonly file: string; readonly presets: Presets }

/** The settings in effect, with the mappings of presets filled in and each with its origin. Secrets have no value. */
export function listSettings(
  values: ConfigFile,
  checked: readonly CheckedConnection[],
  { document, file, presets }: ListingContext,
): Setting[] {
  const { platform } = values
  const connections = checked.flatMap(({ connection, directory }) => {
    const settings = connection ?? (directory && { ...directory, pushed: null, webhook: null, linkedTo: undefined })
    if (!settings || settings.linkedTo !== undefined) return []
    const { name, webhook } = settings
    const source = settings.source ?? settings.pushed
    const feeds = {
      source: source ? { ...source.settings, ...asWritten(source.mapping) } : undefined,
      webhook: webhook ? { ...webhook.settings, ...asWritten(webhook.mapping) } : undefined,
    }
    return [[name, { ...values.connections[name], ...feeds }] as const]
  })
  const effective = {
    ...values,
    platform: { ...platform, baseUrl: platform.baseUrl ?? regions[platform.region ?? 'default'] },
    connections: Object.fromEntries(connections),
  }
  return effectiveSettings(effective, {
    document,
    file,
    secrets: secretNames(document),
    presetOf(part) {
      const name = textAt(part, ['preset'])
      const preset = presets.get(name)
      return preset === undefined
        ? null
        : { name, values: { ...preset.recipe?.source, ...preset.mapping, ...preset.format } }
    },
  })
}

/** A mapping without the properties of the record's schema, which are no settings. */
function asWritten({ record, ...mapping }: Mapping): object {
  if (record === undefined) return mapping
  const rules = Object.entries(record).map(([name, { property: _property, ...rule }]) => [name, rule])
  return { ...mapping, record: Object.fromEntries(rules) }
}
