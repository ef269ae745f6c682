import type { z } from 'zod'
import type { Connector, ConnectorContext } from './connector.ts'
import type { Discovery } from './discovery.ts'

/** The settings that every kind of source has. */
type SourceShape = {
  readonly type: z.ZodLiteral<string>
  readonly mode: z.ZodType<'snapshot' | 'delta'>
  readonly timeZone: z.ZodType<string>
}

type SourceSchema<Shape extends SourceShape = SourceShape> = z.ZodObject<Shape, z.core.$strict>

/** A kind of source, such as exports on an SFTP server. `Schema` describes its settings. */
type KindOf<Schema extends SourceSchema> = {
  /** The settings under `source` in the configuration. The daemon adds those of the mapping. */
  readonly settings: Schema
  /** Paths of settings that must come from the environment or from a file, such as `decrypt.privateKey`. */
  readonly secrets: readonly string[]
  /** Paths of settings that may be a secret, and may stand in the configuration. */
  readonly possibleSecrets: readonly string[]
  /** Whether HR writes a file now and then, which can become old. A list that is fetched from a system is as fresh as the answer. */
  readonly isFile: boolean
  /** Whether settings, as they are written, describe a text export: a preset may then say how it is encoded and delimited. */
  readonly isTextExport: (settings: Readonly<Record<string, unknown>>) => boolean
  /** The connector for settings that were checked. It reaches for nothing before it is opened, and loads its code then. */
  readonly connect: (settings: z.infer<Schema>, place: ConnectorContext) => Connector
  /** How `rollcall init` finds an export that a person names. */
  readonly discovery: Discovery
}

/** Any kind of source, as the registry lists it. */
export type ConnectorKind = KindOf<SourceSchema> & {
  /** The `type` in the settings of a source. */
  readonly type: string
}

/** A kind of source for the registry. Its settings were checked by its schema wherever they come back to it. */
export function defineConnectorKind<Shape extends SourceShape>(kind: KindOf<SourceSchema<Shape>>): ConnectorKind {
  return {
    ...kind,
    type: kind.settings.shape.type.value,
    connect: (settings, place) => kind.connect(settings as z.infer<SourceSchema<Shape>>, place),
  }
}

/** A connector whose code is loaded when it is used first. `watches`: whether these settings ask for a watch. */
export function lazyConnector(
  load: () => Promise<Connector>,
  { watches = false }: { readonly watches?: boolean } = {},
): Connector {
  let loading: Promise<Connector> | null = null
  const loaded = () => {
    loading ??= load()
    return loading
  }
  const watch: Connector['watch'] = async (events) => {
    const connector = await loaded()
    if (!connector.watch) throw new Error('the connector watches nothing')
    return await connector.watch(events)
  }
  return {
    open: async (options) => await (await loaded()).open(options),
    archive: async (source, decision) => await (await loaded()).archive?.(source, decision),
    ...(watches && { watch }),
  }
}
