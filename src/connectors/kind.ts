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
  /** Paths of settings that may be secrets but may also be written in the configuration. */
  readonly possibleSecrets: readonly string[]
  /** Whether HR writes files, which become old. A list that is fetched from a system is always fresh. */
  readonly isFile: boolean
  /** Whether unparsed settings describe a text export, for which a preset may set encoding and delimiter. */
  readonly isTextExport: (settings: Readonly<Record<string, unknown>>) => boolean
  /** The connector for parsed settings. It loads its code, and accesses the source, only when it is used. */
  readonly connect: (settings: z.infer<Schema>, context: ConnectorContext) => Connector
  /** How `rollcall init` and the console find an export that a person names. */
  readonly discovery: Discovery
}

/** Any kind of source, as the registry lists it. */
export type ConnectorKind = KindOf<SourceSchema> & {
  /** What `type` in the settings of a source may be, the recommended one first. */
  readonly types: readonly string[]
}

/** Makes a kind of source for the registry. `connect` receives settings that its schema has parsed. */
export function defineConnectorKind<Shape extends SourceShape>(kind: KindOf<SourceSchema<Shape>>): ConnectorKind {
  return {
    ...kind,
    types: [...kind.settings.shape.type.values],
    connect: (settings, context) => kind.connect(settings as z.infer<SourceSchema<Shape>>, context),
  }
}

type LazyOptions = { readonly watches?: boolean }

/** A connector that is loaded at its first use. `watches`: whether it has a watch. */
export function lazyConnector(load: () => Promise<Connector>, { watches = false }: LazyOptions = {}): Connector {
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
    watch: watches ? watch : undefined,
  }
}
