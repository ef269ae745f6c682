import { z } from 'zod'
import { settingsSchema } from '../../../src/daemon/config/json-schema.ts'

type Schema = {
  readonly description?: string
  readonly default?: unknown
  readonly enum?: readonly unknown[]
  readonly const?: unknown
  readonly required?: readonly string[]
  readonly properties?: Readonly<Record<string, Schema>>
  readonly additionalProperties?: boolean | Schema
  readonly anyOf?: readonly Schema[]
  readonly oneOf?: readonly Schema[]
  readonly items?: Schema
}

const Schema: z.ZodType<Schema> = z.lazy(() =>
  z.looseObject({
    description: z.string().optional(),
    enum: z.array(z.unknown()).optional(),
    required: z.array(z.string()).optional(),
    properties: z.record(z.string(), Schema).optional(),
    additionalProperties: z.union([z.boolean(), Schema]).optional(),
    anyOf: z.array(Schema).optional(),
    oneOf: z.array(Schema).optional(),
    items: Schema.optional(),
  }),
)

type Setting = {
  readonly path: string
  readonly values: string
  readonly meaning: string
  /** The types of source, of target, or of channel, that have it, where not all do. */
  readonly types?: readonly string[]
  /** Further settings of the same row. */
  readonly others?: string[]
}

const source = 'connections.NAME.source'
const webhook = 'connections.NAME.webhook'
const also = 'connections.NAME.also.NAME'
const channel = 'alerts.channels.NAME'

/** What is a list by names of one's own, and what is of one type or another. */
const maps: ReadonlySet<string> = new Set(['connections', 'connections.NAME.also', 'alerts.channels'])
const typed: ReadonlySet<string> = new Set([source, 'connections.NAME.target', `${also}.target`, channel])

/** Lists whose members have settings, and what has settings that its meaning says are described elsewhere. */
const lists: ReadonlySet<string> = new Set([`${source}.join`, `${source}.each`])
const elsewhere: ReadonlySet<string> = new Set([`${source}.join.pages`])

/** Settings with the same meaning as others: they share one row, which says where the meaning stands. */
const repeating = [
  { base: webhook, others: [source], words: 'As for a source.' },
  { base: also, others: [source, 'connections.NAME'], words: 'As for the connection above.' },
  { base: `${source}.each`, others: [`${source}.join`], words: 'As for join.' },
  ...['record.PROPERTY', 'status', 'action', 'rowTimeZone', 'severalRows.latest'].map((rule) => ({
    base: `${source}.${rule}`,
    others: [`${source}.fields.FIELD`],
    words: 'As for fields.',
  })),
]

/** What the head of the page says once for all settings. */
const reference = /, (?:each )?as \$\{env:NAME\} or \$\{file:PATH\}/
const relative = /, relative to the folder of [a-z ]*file(?=\.)| Relative to the folder of [a-z ]*file\./
/** The unit of a duration or size, which the name of the setting ends with. */
const unit = /, in (?:milliseconds|seconds|minutes|bytes)(?=[.,])/

const head = `# Every setting

\`npx vitest run test/house.test.ts -u\` generates this page from the schema of the configuration, and a test compares the two.
[configure.md](configure.md) and [sources.md](sources.md) explain how settings work together. \`NAME\` stands for the name of a connection or
of a channel, \`FIELD\` for one of the fields of a person, \`PROPERTY\` for one of the properties of a record. Settings of all types of source or
target come first, then the settings of single types. Bold values are defaults; others are in the text. A *secret* is written as \`\${env:NAME}\` or \`\${file:PATH}\`. Paths of files
are relative to the folder of the configuration file. Names of durations and sizes end with their unit; \`Ms\` is milliseconds.
`

/** The page docs/settings.md: every setting with its values, its default and its meaning. */
export function settingsPage(): string {
  const all = settingsOf(Schema.parse(settingsSchema()), '')
  const sections = [...Map.groupBy(foldRepeats(foldLimits(all)), sectionOf)]
  return [head, ...sections.map(([title, settings]) => `## ${title}\n\n${table(settings)}`)].join('\n')
}

/** Every setting below a place of the schema that has something to say. */
function settingsOf(schema: Schema, base: string, isRequired = false): Setting[] {
  const own = { path: base, values: valuesOf(schema, isRequired), meaning: meaningOf(schema) }
  const below = typed.has(base) ? byType(schema, base) : settingsBelow(schema, base)
  const isGroup = below.length > 0 && own.meaning === ''
  return isGroup ? below : [own, ...below]
}

function settingsBelow(schema: Schema, base: string): Setting[] {
  if (elsewhere.has(base)) return []
  if (lists.has(base) && schema.items) return settingsBelow(schema.items, base)
  const inner = alternatives(schema).flatMap((alternative) => {
    const { properties = {}, required = [], additionalProperties } = alternative
    const named = Object.entries(properties).flatMap(([name, below]) =>
      settingsOf(below, join(base, name), alternative === schema && required.includes(name)),
    )
    if (typeof additionalProperties !== 'object') return named
    if (maps.has(base)) return [...named, ...settingsOf(additionalProperties, join(base, 'NAME'))]
    return base.endsWith('.record') ? [...named, ...settingsOf(additionalProperties, join(base, 'PROPERTY'))] : named
  })
  return base.endsWith('.fields') ? byField(inner) : unique(inner)
}

/** Settings that every type has, once; those that only some have, with the names of these. */
function byType(schema: Schema, base: string): Setting[] {
  const [, ...sources] = alternatives(schema)
  const split = sources.flatMap((each) => {
    const { const: only, enum: several = [only] } = each.properties?.type ?? {}
    const type = several.join(' or ')
    return settingsBelow(each, base).map((setting) => ({ ...setting, type }))
  })
  const groups = Map.groupBy(split, ({ path, values, meaning }) => `${path}\n${values}\n${meaning}`)
  return [...groups.values()].flatMap((members) => {
    const [first] = members
    if (first === undefined) return []
    const { path, values, meaning } = first
    const types = members.length === sources.length ? [] : members.map(({ type }) => type)
    return [{ path, values, meaning, types }]
  })
}

/** Repeated settings of a group share one row; settings below them are left out. */
function foldRepeats(settings: readonly Setting[]): Setting[] {
  const nameOf = ({ path, values, meaning }: Setting) => [path, values, meaning.replace(fieldsOf, '')].join('\n')
  const all = new Set(settings.map(nameOf))
  const groupOf = (setting: Setting) => {
    const group = repeating.findLast(({ base }) => setting.path.startsWith(`${base}.`))
    const isRepeated = group?.others.some((other) =>
      all.has(nameOf({ ...setting, path: setting.path.replace(group.base, other) })),
    )
    return group && isRepeated ? group : null
  }
  const isBelow = (setting: Setting) => {
    const group = groupOf(setting)
    return group !== null && setting.path.split('.').length > group.base.split('.').length + 1
  }
  return foldRows(
    settings.filter((setting) => !isBelow(setting)),
    groupOf,
  )
}

/** All limits share one row; docs/guards.md has what each counts, and its defaults. */
function foldLimits(settings: readonly Setting[]): Setting[] {
  const limitOf = ({ path }: Setting) => /^(.*\.guards\.(?!unusual)\w+)\.(?:count|share)$/.exec(path)?.[1]
  const limits = new Set(settings.flatMap((setting) => limitOf(setting) ?? []))
  const words = 'A `count` and a `share`, with the defaults of [guards](guards.md#limits).'
  const groups = new Map<string, { readonly words: string }>()
  return foldRows(
    settings.filter((setting) => limitOf(setting) === undefined),
    ({ path }) => {
      if (!limits.has(path)) return null
      const guards = path.replace(/\.\w+$/, '')
      const group = groups.get(guards) ?? { words }
      groups.set(guards, group)
      return group
    },
  )
}

/** The settings of each group as one row, in the place of its first one. */
function foldRows(
  settings: readonly Setting[],
  groupOf: (setting: Setting) => { readonly words: string } | null,
): Setting[] {
  const firsts = new Map<object, Setting>()
  return settings.flatMap((setting) => {
    const group = groupOf(setting)
    if (group === null) return [setting]
    const first = firsts.get(group)
    first?.others?.push(setting.path)
    if (first !== undefined) return []
    const row = { ...setting, values: '', meaning: group.words, others: [] }
    firsts.set(group, row)
    return [row]
  })
}

/** The fields that have a setting, at the end of its meaning. */
const fieldsOf = / (?:Not of|Of) (?:`\w+`(?:, )?)+\.$/

/** Settings that several fields share, once; those that only some have, with the names of these. */
function byField(settings: readonly Setting[]): Setting[] {
  const split = settings.map((setting) => {
    const [, start = '', field = '', rest = ''] = /^(.*\.fields\.)([^.]+)(.*)$/.exec(setting.path) ?? []
    return { ...setting, field, path: `${start}FIELD${rest}` }
  })
  const fields = new Set(split.map(({ field }) => field))
  const groups = Map.groupBy(split, (setting) => `${setting.path}\n${setting.values}\n${setting.meaning}`)
  const [start = ''] = /^.*\.FIELD/.exec(split[0]?.path ?? '') ?? []
  const meaning = `A column, or settings. null takes the field out of the preset. FIELD is ${listed([...fields])}.`
  const options = [...groups.values()].flatMap((members) => {
    const [first] = members
    if (first === undefined) return []
    return [{ path: first.path, values: first.values, meaning: `${first.meaning}${scopeOf(members, fields)}` }]
  })
  return [{ path: start, values: '', meaning }, ...options]
}

/** The fields that have a setting, where not all have it: named, or the others if those are fewer. */
function scopeOf(members: readonly { readonly field: string }[], fields: ReadonlySet<string>): string {
  const having = members.map(({ field }) => field)
  const lacking = [...fields].filter((field) => !having.includes(field))
  if (lacking.length === 0) return ''
  return lacking.length < having.length ? ` Not of ${listed(lacking)}.` : ` Of ${listed(having)}.`
}

function listed(names: readonly string[]): string {
  return names.map(code).join(', ')
}

function alternatives(schema: Schema): Schema[] {
  return [schema, ...[...(schema.anyOf ?? []), ...(schema.oneOf ?? [])].flatMap(alternatives)]
}

function unique(settings: readonly Setting[]): Setting[] {
  return [
    ...new Map(settings.map((setting) => [`${setting.path}\n${setting.values}\n${setting.meaning}`, setting])).values(),
  ]
}

/** The values that a setting may have, the default first. */
function valuesOf(schema: Schema, isRequired: boolean): string {
  const known = alternatives(schema).flatMap(({ enum: members = [], const: only }) => [
    ...members,
    ...(only === undefined ? [] : [only]),
  ])
  const { default: preset } = schema
  const hasDefault = preset !== undefined && !(typeof preset === 'object' && preset !== null)
  const others = known.filter((value) => value !== preset)
  return [
    ...(isRequired ? ['required'] : []),
    ...(reference.test(schema.description ?? '') ? ['secret'] : []),
    ...(hasDefault ? [preset === '' ? 'empty' : `**${code(preset)}**`] : []),
    ...others.map(code),
  ].join(', ')
}

function code(value: unknown): string {
  return `\`${String(value)}\``
}

function meaningOf({ description = '' }: Schema): string {
  const own = description.replace(reference, '').replace(relative, '').replace(unit, '')
  return own.replaceAll('<', '&lt;').replaceAll('|', '\\|').replaceAll('\n', ' ')
}

/** Groups of few settings of a connection, which share a section. */
const small: ReadonlySet<string> = new Set('blackouts pinned onHold keepValues deliver delivery leavers'.split(' '))

function sectionOf({ path, types = [] }: Setting): string {
  const [top = '', , area] = path.split('.')
  if (path.startsWith(channel)) return types.length === 0 ? channel : `${channel} of type ${types.join(', ')}`
  if (top !== 'connections') return ['queue', 'dataDir'].includes(top) ? 'database' : top
  if (area === undefined || small.has(area)) return 'connections'
  return types.length === 0 ? `connections.NAME.${area}` : `connections.NAME.${area} of type ${types.join(', ')}`
}

function join(base: string, name: string): string {
  return base === '' ? name : `${base}.${name}`
}

function table(settings: readonly Setting[]): string {
  const rows = settings.map(({ path, others = [], values, meaning }) => {
    const name = path.replace(/^(?:connections|alerts\.channels)\.NAME\./, '')
    const names = [name, ...others.map((other) => other.split('.').at(-1))]
    return `| ${names.map(code).join(', ')} | ${values} | ${meaning} |`
  })
  return ['| Setting | Values | Meaning |', '|---|---|---|', ...rows, ''].join('\n')
}
