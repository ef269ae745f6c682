import { readdir, readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { parse } from 'yaml'
import { z } from 'zod'
import { exportFormat } from '../../connectors/file/format.ts'
import { Failure } from '../../errors.ts'
import { lintChecks } from '../../identity/lint/lint.ts'
import { mostSimilar } from '../../identity/mapping/headers.ts'
import { MappingPatch } from '../../identity/mapping/mapping.ts'
import { type Recipe, recipeMistakes, recipeSettings, toRecipe } from './recipe.ts'
import { checkedOnce } from './schema.ts'

const folder = new URL('../../../config/presets/', import.meta.url)

// Without the defaults: what a preset leaves open is for the source to say.
const PresetFormat = z.strictObject({
  delimiter: exportFormat.delimiter.unwrap().optional(),
  encoding: exportFormat.encoding.unwrap().optional(),
  headerLine: exportFormat.headerLine.unwrap().optional(),
  linesAfterHeader: exportFormat.linesAfterHeader.unwrap().optional(),
})

/** A preset as its file has it: the parts of a mapping stand beside what else is known of the system. */
const PresetFile = z
  .strictObject({
    title: z.string().min(1).describe('The system, and which of its exports or lists.'),
    notes: z.array(z.string()).default([]).describe('What its administrator should know.'),
    ...MappingPatch.shape,
    format: PresetFormat.default({}).describe(
      'How the system writes its exports, where that differs from a plain CSV file. What a connection says overrides it.',
    ),
    traps: z
      .array(z.strictObject({ check: z.enum(lintChecks), warn: z.string().min(1) }))
      .default([])
      .describe('What to say besides, where a check of the export finds something.'),
    ...recipeSettings,
  })
  .superRefine((preset, context) => {
    for (const message of recipeMistakes(preset)) context.addIssue({ code: 'custom', message })
  })

/** What is known about the exports of one HR system, or about a list that its API has. */
export const Preset = PresetFile.transform(({ title, notes, format, traps, source, setup, asks, ...mapping }) => {
  const recipe = toRecipe({ source, setup, asks }, mapping.record !== undefined)
  return { title, notes, mapping, format, traps, recipe }
})
export type Preset = z.infer<typeof Preset>

/** By their names. */
export type Presets = ReadonlyMap<string, Preset>

const read = new Map<string, Promise<Preset>>()

/**
 * The presets for exports that come with Rollcall: config/presets/<name>.yaml. One that is not valid is a bug of ours and says so. Each
 * is read once, since they change with the code only.
 */
export async function readPresets(): Promise<Presets> {
  const all = await presetsOf(await presetNames())
  return new Map([...all].filter(([, { recipe }]) => recipe === null))
}

/** A preset that is a recipe. */
export type RecipePreset = Preset & { readonly recipe: Recipe }

/** The presets that are recipes. */
export async function readRecipes(): Promise<ReadonlyMap<string, RecipePreset>> {
  const all = await presetsOf(await presetNames())
  return new Map(
    [...all].flatMap(([name, { recipe, ...preset }]) => (recipe === null ? [] : [[name, { ...preset, recipe }]])),
  )
}

/** The recipe of this name, which reads people. Throws a `usage` failure for any other. */
export async function requirePeopleRecipe(name: string): Promise<RecipePreset> {
  const preset = await requireRecipe(name)
  if (!preset.recipe.listsAccounts) return preset
  throw new Failure(
    'usage',
    `${name} lists accounts and no people: "rollcall recipes ${name}" prints a directory to copy`,
  )
}

/** The recipe of this name. Throws a `usage` failure if there is none. */
export async function requireRecipe(name: string): Promise<RecipePreset> {
  const recipes = await readRecipes()
  const preset = recipes.get(name)
  if (preset !== undefined) return preset
  const similar = mostSimilar([name], [...recipes.keys()])
  const help = similar === null ? '"rollcall recipes" lists them' : `did you mean "${similar}"?`
  throw new Failure('usage', `there is no recipe "${name}": ${help}`)
}

/** What is wrong with the name of a preset that there is not. */
export function unknownPreset(name: string, presets: Presets): string {
  const similar = mostSimilar([name], [...presets.keys()])
  if (similar !== null) return `unknown preset "${name}" (did you mean "${similar}"?)`
  const forExports = [...presets].flatMap(([known, { recipe }]) => (recipe === null ? [known] : []))
  return `unknown preset "${name}" (known: ${forExports.join(', ')}, and the recipes that "rollcall recipes" lists)`
}

/** The presets with these names; all presets if one is unknown, so that a message can list them. */
export async function presetsFor(requested: Iterable<string>): Promise<Presets> {
  const names = await presetNames()
  const chosen = new Set(requested)
  const areKnown = chosen.isSubsetOf(new Set(names))
  return await presetsOf(areKnown ? names.filter((name) => chosen.has(name)) : names)
}

async function presetNames(): Promise<string[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith('.yaml'))
  return files.map((file) => file.slice(0, -'.yaml'.length)).sort()
}

async function presetsOf(names: readonly string[]): Promise<Presets> {
  return new Map(await Promise.all(names.map(async (name) => [name, await readOnce(name)] as const)))
}

async function readOnce(name: string): Promise<Preset> {
  try {
    return await read.getOrInsertComputed(name, readPreset)
  } catch (error) {
    // The next configuration tries again, for example after a lack of free file handles.
    read.delete(name)
    throw error
  }
}

async function readPreset(name: string): Promise<Preset> {
  return Preset.parse(parse(await readFile(fileURLToPath(new URL(`${name}.yaml`, folder)), 'utf8')), checkedOnce)
}
