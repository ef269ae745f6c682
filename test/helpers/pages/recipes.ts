import { type RecipePreset, readRecipes } from '../../../src/daemon/config/presets.ts'

const head = `# Recipes

A recipe is a [preset](presets.md) with a source: it knows the address, the pages, the fields and the statuses of one HR system.
\`rollcall init --recipe NAME\` asks for the rest, shows the first people and writes the configuration, as does the console's first visit.
\`rollcall recipes NAME\` prints a connection to copy, where each value is found and, under "What to know", how the system writes keys, dates and departures: read it first.
Give the credentials the right to read people and nothing else.

What the connection says overrides the recipe, member by member. A list is replaced, unless numbers as names change single items, counted from 0
(\`{ '2': … }\`). \`null\` removes:

\`\`\`yaml
source:
  preset: personio-api
  login: { body: { client_id: papi-00000000, client_secret: '\${file:/run/secrets/hr_client_secret}' } }
  pages: { size: 50 } # the rest of pages is the recipe's
  headers: null
  fields: { jobTitle: attributes.function.value }
\`\`\`

\`npx vitest run test/house.test.ts -u\` generates this page from \`config/presets/\`.
`

/** The page docs/recipes.md: for each recipe the steps in the HR system, and how leavers show. */
export async function recipesPage(): Promise<string> {
  const recipes = [...(await readRecipes())]
  const byStep = new Map(recipes.toReversed().map(([, { title, recipe }]) => [recipe.setup.join('\n'), title]))
  const sections = recipes.map(([name, preset]) => section(name, preset, byStep.get(preset.recipe.setup.join('\n'))))
  return [head, ...sections].join('\n')
}

/** `firstWithSteps`: the first recipe with the same steps, which stand only there. */
function section(name: string, { title, traps, recipe }: RecipePreset, firstWithSteps = title): string {
  const leavers = traps
    .filter(({ check }) => check === 'no-leavers')
    .map(({ warn }) => `${warn.charAt(0).toUpperCase()}${warn.slice(1)}.`)
  const steps = recipe.setup.map((step, at) => `${at + 1}. ${step}`)
  return [
    `## ${title}`,
    '',
    `\`preset: ${name}\``,
    '',
    ...(firstWithSteps === title ? steps : [`The steps are those of ${firstWithSteps}.`]),
    '',
    ...(recipe.listsAccounts ? [] : [`**Leavers.** ${leavers.join(' ')}`, '']),
  ].join('\n')
}
