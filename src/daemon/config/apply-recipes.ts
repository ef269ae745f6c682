import { mostSimilar } from '../../identity/mapping/headers.ts'
import type { ConfigDocument, Path, Problem } from './document.ts'
import { mergeSettings, openSettings, withOpenSetting, withoutOpenSettings } from './merge-settings.ts'
import { type Presets, unknownPreset } from './presets.ts'
import { problemAt } from './problems.ts'
import { fillPlaceholders, isAddressSetting, parameterRefusal, type Recipe, textsIn } from './recipe.ts'
import { plainSecret } from './secret-settings.ts'
import { connectionSecrets } from './source-settings.ts'
import { isObject, objectAt, textAt } from './values.ts'

/** A document whose sources are complete. */
type AppliedRecipes = {
  readonly document: ConfigDocument
  readonly problems: readonly Problem[]
  /** Whether a setting belongs to a source whose recipe could not be applied, so that nothing else can be said of it. */
  readonly isBroken: (path: Path) => boolean
}

/**
 * The document with the settings of each recipe filled in below those of the connection, as if the connection had written all of them.
 * Nothing behind this step knows of recipes.
 */
export function applyRecipes(document: ConfigDocument, presets: Presets): AppliedRecipes {
  const sources = expandSources(document, presets)
  if (sources.size === 0) return { document, problems: [], isBroken: () => false }
  const isBroken = ([root, name, part]: Path) =>
    root === 'connections' && part === 'source' && (sources.get(String(name))?.problems.length ?? 0) > 0
  const problems = [...sources.values()].flatMap((source) => source.problems)
  return { document: expandedDocument(document, presets), problems, isBroken }
}

/** By the names of their connections, the sources that are read with recipes, or are meant to be. */
type ExpandedSources = ReadonlyMap<string, ExpandedSource>

function expandSources(document: ConfigDocument, presets: Presets): ExpandedSources {
  const connections = Object.entries(objectAt(document.values(), ['connections']))
  const sources = connections.flatMap(([name, connection]): [string, ExpandedSource][] => {
    const source = isObject(connection) ? connection.source : undefined
    if (!isObject(source) || !concernsRecipes(source, presets)) return []
    return [[name, expandSource(source, { document, at: ['connections', name, 'source'], presets })]]
  })
  return new Map(sources)
}

function concernsRecipes(source: Readonly<Record<string, unknown>>, presets: Presets): boolean {
  const preset = presets.get(String(source.preset))
  const isUnknown = source.preset !== undefined && preset === undefined && source.type === undefined
  return isUnknown || source.parameters !== undefined || (preset?.recipe ?? null) !== null
}

function expandedDocument(document: ConfigDocument, presets: Presets): ConfigDocument {
  let expanded: ExpandedSources | null = null
  let expandedValues: unknown = null
  const forget = () => {
    expanded = null
    expandedValues = null
  }
  const sources = () => {
    expanded ??= expandSources(document, presets)
    return expanded
  }
  return {
    ...document,
    get problems() {
      return document.problems
    },
    values() {
      expandedValues ??= valuesWith(document.values(), sources())
      return expandedValues
    },
    writtenValueAt(path) {
      const written = document.writtenValueAt(path)
      const [root, name, part, ...rest] = path
      if (written?.written !== undefined || root !== 'connections' || part !== 'source') return written
      return sources().get(String(name))?.writtenTexts.get(rest.join('.')) ?? written
    },
    defer(...replaced) {
      forget()
      return document.defer(...replaced)
    },
    convert(path) {
      forget()
      return document.convert(path)
    },
  }
}

/** The values, with the expanded settings of those sources. */
function valuesWith(plain: unknown, sources: ExpandedSources): unknown {
  const values = objectAt(plain, [])
  const connections = Object.entries(objectAt(values, ['connections'])).map(([name, connection]) => {
    const source = sources.get(name)
    return [name, source === undefined ? connection : { ...objectAt(connection, []), source: source.settings }]
  })
  return { ...values, connections: Object.fromEntries(connections) }
}

type SourceContext = { readonly document: ConfigDocument; readonly at: Path; readonly presets: Presets }

type ExpandedSource = {
  readonly settings: Readonly<Record<string, unknown>>
  readonly problems: readonly Problem[]
  /** The texts that hold a parameter which the connection writes as a reference, by their path: with that reference. */
  readonly writtenTexts: ReadonlyMap<string, NonNullable<ReturnType<ConfigDocument['writtenValueAt']>>>
}

function expandSource(
  { parameters, ...own }: Readonly<Record<string, unknown>>,
  context: SourceContext,
): ExpandedSource {
  const { document, at, presets } = context
  const name = String(own.preset)
  const preset = presets.get(name)
  const refuse = (path: Path, message: string) => problemAt(document, [...at, ...path], message)
  const unusable = (problem: Problem) => ({ settings: own, problems: [problem], writtenTexts: new Map() })
  if (own.preset !== undefined && preset === undefined)
    return unusable(refuse(['preset'], unknownPreset(name, presets)))
  const recipe = preset?.recipe ?? null
  if (recipe === null) return unusable(refuse(['parameters'], 'are for a recipe: "rollcall recipes" lists them'))
  if (own.type !== undefined && own.type !== recipe.source.type)
    return unusable(
      refuse(['type'], `the recipe ${name} goes with type: ${recipe.source.type}; take out this line, or the preset`),
    )
  const given = parametersOf(recipe, parameters, context)
  const base = [...recipe.credentials.keys()].reduce<unknown>(
    (partial, path) => withOpenSetting(partial, path.split('.')),
    fillPlaceholders(recipe.source, given.values),
  )
  const merged = mergeSettings(base, withFilledAddresses(own, given.values))
  const missing = openSettings(merged).flatMap((path) => {
    const credential = recipe.credentials.get(path.join('.'))
    if (credential === undefined || credential.optional) return []
    return [refuse(path, `is missing: ${credential.label}. ${credential.help}`)]
  })
  const settings = withoutOpenSettings(merged)
  return {
    settings: isObject(settings) ? settings : own,
    problems: [...given.problems, ...missing, ...plainCredentials(recipe, context)],
    writtenTexts: writtenTexts({ recipe, own }, given.values, context),
  }
}

/** Own settings with the parameters in their addresses. Other texts may hold braces of their own, such as a template of columns. */
function withFilledAddresses(
  value: unknown,
  parameters: ReadonlyMap<string, string>,
  path: readonly string[] = [],
): unknown {
  if (Array.isArray(value))
    return value.map((member, at) => withFilledAddresses(member, parameters, [...path, `${at}`]))
  if (!isObject(value)) return isAddressSetting(path) ? fillPlaceholders(value, parameters) : value
  const members = Object.entries(value).map(([name, member]) => [
    name,
    withFilledAddresses(member, parameters, [...path, name]),
  ])
  return Object.fromEntries(members)
}

/** A problem for each secret of the recipe that is written into the configuration, where the settings of the source would allow it. */
function plainCredentials({ credentials }: Recipe, { document, at }: SourceContext): Problem[] {
  return [...credentials].flatMap(([name, { is }]) => {
    const path = [...at, ...name.split('.')]
    const isKnown = connectionSecrets.includes(`source.${name}`)
    if (is !== 'secret' || isKnown || textAt(document.values(), path) === '' || document.referencesAt(path)) return []
    return [problemAt(document, path, plainSecret)]
  })
}

type GivenParameters = { readonly values: ReadonlyMap<string, string>; readonly problems: readonly Problem[] }

function parametersOf(recipe: Recipe, parameters: unknown, { document, at }: SourceContext): GivenParameters {
  const given = isObject(parameters) ? parameters : {}
  const refuse = (name: string, message: string) => problemAt(document, [...at, 'parameters', name], message)
  const names = [...recipe.parameters.keys()]
  const unknown = Object.keys(given).flatMap((name) => {
    if (recipe.parameters.has(name)) return []
    const { line, column } = document.positionOfKey([...at, 'parameters', name])
    const similar = mostSimilar([name], names)
    const help = similar === null ? `(known: ${names.join(', ') || 'none'})` : `(did you mean "${similar}"?)`
    return [{ line, column, message: `${[...at, 'parameters', name].join('.')}: unknown parameter ${help}` }]
  })
  const values = new Map<string, string>()
  const refused = [...recipe.parameters].flatMap(([name, parameter]) => {
    const value = given[name] ?? parameter.default
    if (value === undefined) return [refuse(name, `is missing: ${parameter.label}, such as '${parameter.example}'`)]
    const refusal = parameterRefusal(recipe, name, value)
    // The rest of the source is checked with the example.
    values.set(name, refusal === null ? String(value) : parameter.example)
    return refusal === null ? [] : [refuse(name, refusal)]
  })
  return { values, problems: [...unknown, ...refused] }
}

type RecipeTexts = { readonly recipe: Recipe; readonly own: Readonly<Record<string, unknown>> }

function writtenTexts(
  { recipe: { source }, own }: RecipeTexts,
  values: ReadonlyMap<string, string>,
  { document, at }: SourceContext,
): ExpandedSource['writtenTexts'] {
  const references = [...values.keys()].flatMap((name) => {
    const written = document.writtenValueAt([...at, 'parameters', name])
    return written?.written === undefined ? [] : [[name, { ...written, written: written.written }] as const]
  })
  if (references.length === 0) return new Map()
  const ofRecipe = textsIn(source).filter(({ path }) => document.writtenValueAt([...at, ...path]) === null)
  const ownAddresses = textsIn(own).filter(({ path }) => isAddressSetting(path))
  const texts = [...ofRecipe, ...ownAddresses].flatMap(({ path, text }) => {
    const [first] = references.filter(([name]) => text.includes(`{${name}}`))
    if (first === undefined) return []
    const shown = [...values].reduce((shownText, [name, value]) => {
      const written = references.find(([other]) => other === name)?.[1].written ?? value
      return shownText.replaceAll(`{${name}}`, () => written)
    }, text)
    return [[path.join('.'), { ...first[1], written: shown }] as const]
  })
  return new Map(texts)
}
