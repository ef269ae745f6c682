import { describe, expect, test } from 'vitest'
import { isPing, namedRecipe, recipeNames } from '../../../src/connectors/webhook/named-recipes.ts'
import { resolveRecipe, WebhookSettings } from '../../../src/connectors/webhook/settings.ts'

const signature = { header: 'X-Signature' }

describe('the settings of a webhook', () => {
  test('need no more than a sender and a secret', () => {
    const settings = WebhookSettings.parse({ recipe: 'bamboohr', secrets: ['s'] })

    expect(settings).toEqual({
      ...{ recipe: 'bamboohr', secrets: ['s'], toleranceSeconds: 300 },
      ...{ events: '', timeFormat: 'iso', thin: false, timeZone: 'UTC' },
      ...{ quietSeconds: 5, quietMostSeconds: 60, inboxLimit: 100_000, bodyLimitBytes: 1_048_576 },
    })
  })

  test('know every sender by its name', () => {
    const known = recipeNames.map((recipe) => resolveRecipe(WebhookSettings.parse({ recipe, secrets: ['s'] })))

    expect(known).toEqual(recipeNames.map(namedRecipe))
  })

  test('take a recipe as it is spelled out', () => {
    const recipe = { algorithm: 'sha256', signature, signed: '{timestamp}:{body}', timestamp: { header: 'X-Time' } }

    const settings = WebhookSettings.parse({ recipe, secrets: ['s'] })

    expect(resolveRecipe(settings)).toMatchObject({ signed: '{timestamp}:{body}', secretEncoding: 'utf8' })
  })

  test.for<[string, object, RegExp]>([
    ['an unknown sender', { recipe: 'workday' }, /unknown sender: expected one of standard-webhooks, finch,/],
    ['no secret', { secrets: [] }, /secrets/],
    ['a blank secret', { secrets: [''] }, /is empty: check the variable or the file/],
    ['nine secrets', { secrets: Array(9).fill('s') }, /secrets/],
    ['an unknown setting', { quitSeconds: 4 }, /quitSeconds/],
    ['a pointer that is none', { events: 'employees' }, /expected a JSON pointer/],
    ['a wait that ends before it begins', { quietSeconds: 70 }, /must not be less than quietSeconds/],
    ['an unknown zone', { timeZone: 'Mars/Olympus' }, /unknown time zone/],
  ])('refuse %s', ([, changes, expected]) => {
    const { error } = WebhookSettings.safeParse({ recipe: 'github', secrets: ['s'], ...changes })

    expect(error?.message).toMatch(expected)
  })
})

describe('a recipe', () => {
  test.for<[string, object, RegExp]>([
    ['lacks the body', { signed: '{timestamp}', timestamp: { header: 'T' } }, /\{body\} must stand in it once/],
    ['has the body twice', { signed: '{body}{body}' }, /\{body\} must stand in it once/],
    ['signs what it does not know', { signed: '{body}{method}' }, /only \{id\}, \{timestamp\} and \{body\} may/],
    ['leaves its time unsigned', { timestamp: { header: 'T' } }, /a time that is not signed says nothing/],
    [
      'leaves its id unsigned',
      { id: { header: 'I' } },
      /an id in a header that is not signed can be changed by anybody/,
    ],
    ['has no place for its time', { signed: '{timestamp}.{body}' }, /\{timestamp\} needs the setting timestamp/],
    [
      'has no place for its id',
      { signed: '{id}.{body}', id: { pointer: '/id' } },
      /\{id\} needs the setting id\.header/,
    ],
    ['runs id and body together', { signed: '{id}{body}', id: { header: 'I' } }, /a sign must stand between \{id\}/],
    ['has a pair without pairs', { signed: '{timestamp}.{body}', timestamp: { pair: 't' } }, /needs signature\.pair/],
    ['has two places for its time', { timestamp: { header: 'T', pair: 't' } }, /name either header or pair/],
    ['names no header', { signature: { header: 'X Signature' } }, /expected the name of a header/],
    ['signs with a token', { algorithm: 'token', signed: '{id}.{body}', id: { header: 'I' } }, /a token signs nothing/],
    ['hides a token', { algorithm: 'token', secretEncoding: 'base64' }, /a token is compared as it is/],
    ['takes a text for a key', { algorithm: 'ed25519' }, /an ed25519 key is written as base64, whsec, hex or pem/],
    ['takes a document for a secret', { secretEncoding: 'pem' }, /pem holds a public key, for ed25519 only/],
    ['has an unknown part', { signature: { ...signature, color: 'red' } }, /color/],
  ])('is refused when it %s', ([, changes, expected]) => {
    const { error } = WebhookSettings.safeParse({
      recipe: { algorithm: 'sha256', signature, ...changes },
      secrets: ['s'],
    })

    expect(error?.message).toMatch(expected)
  })
})

describe('a ping', () => {
  test.for([
    ['Ping test', true],
    ['"Ping test"', true],
    ['{ "text": "Ping test" }\n', true],
    ['{"text":"Ping test","employee":{}}', false],
    ['Ping test of a person', false],
    ['', false],
    [`Ping test${' '.repeat(2000)}`, false],
  ] as const)('is known by its body (%s)', ([body, expected]) => {
    expect(isPing(namedRecipe('hibob'), Buffer.from(body))).toBe(expected)
  })

  test('is an event like any other for a sender that sends none', () => {
    expect(isPing(namedRecipe('github'), Buffer.from('Ping test'))).toBe(false)
  })
})
