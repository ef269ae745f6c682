import { type RecipePreset, readPresets, readRecipes, requireRecipe } from '../../daemon/config/presets.ts'
import { connectionText } from '../../daemon/proposal/configuration.ts'
import { exampleConnection } from '../../daemon/proposal/recipe-connection.ts'
import { renderRecipe, renderRecipes } from '../render/recipes.ts'
import { createOutput } from '../session/output.ts'

/** Lists the recipes and the presets for exports, or shows one recipe with a configuration to copy. */
export async function recipes(name: string | undefined, { json }: { readonly json?: boolean }): Promise<number> {
  const output = createOutput({ json })
  if (name === undefined) output.printResult(await listRecipes(), renderRecipes)
  else output.printResult(await detailsOf(name), renderRecipe)
  return 0
}

async function listRecipes() {
  const all = [...(await readRecipes())].map(([name, preset]) => summaryOf(name, preset))
  const exports = [...(await readPresets())].map(([name, { title }]) => ({ name, title }))
  return { recipes: all, exports }
}

async function detailsOf(name: string) {
  const preset = await requireRecipe(name)
  const { setup } = preset.recipe
  const configuration = connectionText(exampleConnection(name, preset.recipe))
  return {
    ...summaryOf(name, preset),
    setup,
    notes: preset.notes,
    traps: preset.traps.map(({ warn }) => warn),
    configuration,
  }
}

function summaryOf(name: string, { title, recipe }: RecipePreset) {
  return {
    name,
    title,
    parameters: [...recipe.parameters].map(([parameter, settings]) => ({ name: parameter, ...settings })),
    credentials: [...recipe.credentials].map(([setting, settings]) => ({ setting, ...settings })),
  }
}
