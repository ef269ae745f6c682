import { z } from 'zod'
import { TimeZone } from '../../identity/mapping/zones.ts'
import { JsonPointer } from '../json-pointer.ts'
import { namedRecipe, type RecipeName, recipeNames } from './named-recipes.ts'
import { WebhookRecipe } from './recipe.ts'

const mebibyte = 1024 * 1024

const RecipeByName = z
  .string()
  .refine((name): name is RecipeName => (recipeNames as readonly string[]).includes(name), {
    error: `unknown sender: expected one of ${recipeNames.join(', ')}, or a recipe of your own`,
  })
  .meta({ enum: recipeNames })

/** The settings of a webhook: how requests are verified, and how their events are read. */
export const WebhookSettings = z
  .strictObject({
    recipe: z
      .union([RecipeByName, WebhookRecipe])
      .describe(`How the sender signs: ${recipeNames.join(', ')}, or a recipe of your own.`),
    secrets: z
      .array(z.string().min(1, { error: 'is empty: check the variable or the file that it comes from' }))
      .min(1)
      .max(8)
      .describe(
        'The secrets or tokens that are valid now, each as a reference. Use several while one replaces another.',
      ),
    toleranceSeconds: z
      .int()
      .min(1)
      .max(86_400)
      .default(300)
      .describe('How far the clocks of the sender and of this machine may differ, and how old a signature may be.'),
    events: JsonPointer.default('').describe(
      'Where the body holds its events: a list, or one object. Default: the body itself.',
    ),
    id: JsonPointer.optional().describe(
      'Where the body holds the id of an event. Default: the id of the recipe. Without an id, equal bodies count as one event, unless thin is set.',
    ),
    time: JsonPointer.optional().describe(
      'Where an event, or else the body, holds the time as of which it states HR’s data. Default: the time of sending, else the time of arrival.',
    ),
    timeFormat: z
      .enum(['iso', 'seconds', 'milliseconds'])
      .default('iso')
      .describe('How that time is written: ISO 8601, or a whole number since 1970.'),
    thin: z
      .boolean()
      .default(false)
      .describe(
        'Whether events only say that something changed. They then start a run that reads the source of the connection.',
      ),
    quietSeconds: z
      .number()
      .min(0)
      .max(600)
      .default(5)
      .describe('How long no new event may arrive before the waiting events become one event run.'),
    quietMostSeconds: z.number().min(0).max(3600).default(60).describe('Maximum time that an event waits for others.'),
    inboxLimit: z
      .int()
      .min(1)
      .max(10_000_000)
      .default(100_000)
      .describe('How many events may wait. Beyond that, the sender is asked to send again later.'),
    bodyLimitBytes: z
      .int()
      .min(1024)
      .max(16 * mebibyte)
      .default(mebibyte)
      .describe('The largest body that is accepted.'),
    timeZone: TimeZone.default('UTC').describe(
      "The IANA time zone, such as Europe/Berlin, of the sender's dates and of times without an offset.",
    ),
  })
  .refine(({ quietSeconds, quietMostSeconds }) => quietSeconds <= quietMostSeconds, {
    path: ['quietMostSeconds'],
    error: 'must not be less than quietSeconds',
  })

/** The parsed settings of a webhook. */
export type WebhookSettings = z.infer<typeof WebhookSettings>

/** The settings by which stored events are read and gathered into runs. */
export type EventSettings = Pick<
  WebhookSettings,
  'events' | 'time' | 'timeFormat' | 'timeZone' | 'toleranceSeconds' | 'thin' | 'quietSeconds' | 'quietMostSeconds'
>

/** The recipe in the settings, which may be only its name. */
export function resolveRecipe({ recipe }: Pick<WebhookSettings, 'recipe'>): WebhookRecipe {
  return typeof recipe === 'string' ? namedRecipe(recipe) : recipe
}
