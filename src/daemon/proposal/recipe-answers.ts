import { Failure } from '../../errors.ts'
import { mostSimilar } from '../../identity/mapping/headers.ts'
import { parameterRefusal, type Recipe } from '../config/recipe.ts'

/** Refuses a name that a recipe does not ask for. `option`: where it was given, as messages name it. */
export function requireAskedFor(known: ReadonlyMap<string, unknown>, name: string, option: string): void {
  if (known.has(name)) return
  const names = [...known.keys()]
  const similar = mostSimilar([name], names)
  const help = similar === null ? `it asks for ${names.join(', ') || 'none'}` : `did you mean "${similar}"?`
  throw new Failure('usage', `the recipe has no "${name}" for ${option}: ${help}`)
}

/** The value of a parameter. Throws a `usage` failure if it has not the form that the recipe asks for. */
export function requireParameter(recipe: Recipe, name: string, value: string): string {
  const refusal = parameterRefusal(recipe, name, value)
  if (refusal === null) return value
  throw new Failure('usage', `parameters.${name}: ${refusal}`)
}
