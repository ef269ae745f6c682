import type { ListedPerson, ListPreview } from '../../daemon/proposal/recipe-preview.ts'
import {
  alignColumns,
  escapeText,
  levelMark,
  number,
  type Paint,
  pluralize,
  roomIn,
  shorten,
  tableLines,
} from './text.ts'

const maxCellLength = 40

type Requirement = { readonly label: string; readonly help?: string | undefined }

/** What a recipe is for, and what it asks for. */
type RecipeSummary = {
  readonly name: string
  readonly title: string
  readonly parameters: readonly (Requirement & { readonly name: string; readonly example: string })[]
  readonly credentials: readonly (Requirement & { readonly setting: string; readonly optional: boolean })[]
}

type RecipeDetails = RecipeSummary & {
  readonly setup: readonly string[]
  readonly notes: readonly string[]
  readonly traps: readonly string[]
  /** A connection to copy, in YAML. */
  readonly configuration: string
}

type Lists = {
  readonly recipes: readonly RecipeSummary[]
  readonly exports: readonly { readonly name: string; readonly title: string }[]
}

/** The recipes with what they ask for, then the presets for exports. */
export function renderRecipes({ recipes, exports }: Lists, paint: Paint): string {
  const labelsOf = ({ parameters, credentials }: RecipeSummary) =>
    [...parameters, ...credentials.filter(({ optional }) => !optional)].map(({ label }) => label).join(', ')
  const rows = recipes.map((recipe) => [recipe.name, recipe.title, labelsOf(recipe)].map(escapeText))
  return [
    ...tableLines(['RECIPE', 'SYSTEM', 'ASKS FOR'], rows, paint),
    '',
    'Systems whose exports are known (preset: NAME, with a file):',
    ...indentRows(
      exports.map(({ name, title }) => [name, title]),
      paint,
    ),
    '',
    'What one of them needs, with a configuration to copy: rollcall recipes NAME',
    'To be asked for it, try it, and write the configuration: rollcall init --recipe NAME',
  ].join('\n')
}

/** One recipe: what to create, what it asks for, what to know, and a configuration. */
export function renderRecipe(recipe: RecipeDetails, paint: Paint): string {
  const { name, title, setup, parameters, credentials, notes, traps, configuration } = recipe
  const requested = [
    ...parameters.map((one) => [`parameters.${one.name}`, one.label, one.help ?? `such as ${one.example}`]),
    ...credentials.map((one) => [one.setting, one.optional ? `${one.label} (optional)` : one.label, one.help ?? '']),
  ]
  return [
    `${paint('bold', escapeText(name))}: ${escapeText(title)}`,
    '',
    paint('bold', 'In the HR system'),
    ...indentRows(
      setup.map((step, at) => [`${at + 1}.`, step]),
      paint,
    ),
    '',
    paint('bold', 'What it asks for'),
    ...indentRows(requested, paint),
    '',
    ...(notes.length + traps.length === 0
      ? []
      : [
          paint('bold', 'What to know'),
          ...indentRows(
            [...notes, ...traps.map(sentence)].map((note) => ['-', note]),
            paint,
          ),
          '',
        ]),
    paint('bold', 'A configuration to copy'),
    configuration.trimEnd(),
    '',
    `To be asked for it, try it, and write the configuration: rollcall init --recipe ${escapeText(name)}`,
  ].join('\n')
}

/** What to create in the HR system before anything can be read. */
export function renderSetup(title: string, setup: readonly string[], paint: Paint): string {
  const steps = setup.map((step, at) => [`${at + 1}.`, step])
  return [`${paint('bold', escapeText(title))}, in the HR system:`, ...indentRows(steps, paint), ''].join('\n')
}

/** What a list holds: counts, its end, the first people, and what an operator should look at. */
export function renderListPreview(preview: ListPreview, paint: Paint): string {
  const { records, leavers, rejected, incomplete, end, people, warnings, held } = preview
  const faults = rejected + incomplete
  return [
    `${levelMark('ok', paint)} ${pluralize(records, 'person', 'people')}, ${number(leavers)} of them have left already`,
    ...(end === null ? [] : [`  end of the list: ${escapeText(end)}`]),
    ...(faults === 0
      ? []
      : [`${levelMark('warning', paint)} ${pluralize(faults, 'record')} with something that cannot be read`]),
    '',
    ...tableLines(['KEY', 'E-MAIL', 'NAME', 'JOB', 'LAST DAY'], people.map(personRow), paint).map(
      (line) => `  ${line}`,
    ),
    ...(records > people.length ? [`  … and ${number(records - people.length)} more`] : []),
    '',
    ...warnings.map((warning) => `  ${levelMark('warning', paint)} ${escapeText(warning)}`),
    ...held.map(
      ({ name, reason }) =>
        `  ${levelMark('warning', paint)} the first plan would be held by ${escapeText(`${name}: ${reason}`)}`,
    ),
  ].join('\n')
}

function personRow({ identityId, email, name, jobTitle, leavingDate, hasLeft }: ListedPerson): string[] {
  const lastDay = leavingDate ?? (hasLeft ? 'has left' : '')
  return [identityId, email ?? '', name ?? '', jobTitle ?? '', lastDay].map((cell) => shorten(cell, maxCellLength))
}

function indentRows(rows: readonly (readonly string[])[], paint: Paint): string[] {
  const escaped = rows.map((row) => row.map(escapeText))
  return alignColumns(escaped, (cell) => cell, roomIn(paint, 2)).map((line) => `  ${line}`)
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}
