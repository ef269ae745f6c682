import { parse, stringify } from 'yaml'
import { type RecipePreset, readRecipes } from '../../../src/daemon/config/presets.ts'
import { connectionText } from '../../../src/daemon/proposal/configuration.ts'
import { exampleConnection } from '../../../src/daemon/proposal/recipe-connection.ts'

const head = `# Recipes

A recipe is a [preset](presets.md) with a source: it knows the address, the pages, the fields and the statuses of one HR system.
\`rollcall init --recipe NAME\` asks for the rest, shows the first people and writes the configuration, as does the console's first visit. By hand, the
\`source\` of a connection is as below; \`rollcall recipes NAME\` prints the whole connection, and says where each value is found. Give the credentials the right to read people and nothing else.

What the connection says overrides the recipe, member by member. A list is replaced, unless numbers as names change single items,
counted from 0, as [Odoo's key](#odoo-employees-json-rpc) does. \`null\` removes:

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

/** The page docs/recipes.md: for each recipe the steps in the HR system, how leavers show, what to know, and the source. */
export async function recipesPage(): Promise<string> {
  const recipes = await readRecipes()
  return [head, ...[...recipes].map(([name, preset]) => section(name, preset))].join('\n')
}

function section(name: string, { title, notes, traps, recipe }: RecipePreset): string {
  const warningsOf = (isAboutLeavers: boolean) =>
    traps
      .filter(({ check }) => (check === 'no-leavers') === isAboutLeavers)
      .map(({ warn }) => `${warn.charAt(0).toUpperCase()}${warn.slice(1)}.`)
  const known = [...notes, ...warningsOf(false)]
  const { hr, directory } = parse(connectionText(exampleConnection(name, recipe))).connections
  const shown = recipe.listsAccounts ? { target: directory.target, source: directory.source } : { source: hr.source }
  return [
    `## ${title}`,
    '',
    `\`preset: ${name}\``,
    '',
    ...recipe.setup.map((step, at) => `${at + 1}. ${step}`),
    '',
    ...(recipe.listsAccounts ? [] : [`**Leavers.** ${warningsOf(true).join(' ')}`, '']),
    '```yaml',
    stringify(shown, { lineWidth: 0, singleQuote: true }).trimEnd(),
    '```',
    '',
    ...known.map((note) => `- ${note}`),
    '',
  ].join('\n')
}
