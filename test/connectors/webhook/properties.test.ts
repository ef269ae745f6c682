import { generateKeyPairSync, type KeyObject } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { deduplicationKey } from '../../../src/connectors/webhook/deduplication.ts'
import { namedRecipe, recipeNames } from '../../../src/connectors/webhook/named-recipes.ts'
import { WebhookRecipe } from '../../../src/connectors/webhook/recipe.ts'
import { verifyWebhook } from '../../../src/connectors/webhook/verify.ts'
import { sentWebhook, verdictOf } from '../../helpers/sources/webhooks.ts'

const privateKeys = [generateKeyPairSync('ed25519').privateKey, generateKeyPairSync('ed25519').privateKey]

const recipes: Readonly<Record<string, WebhookRecipe>> = {
  ...Object.fromEntries(recipeNames.map((name) => [name, namedRecipe(name)])),
  'standard-webhooks with a key pair': namedRecipe('standard-webhooks'),
  'hex before the body': WebhookRecipe.parse({
    algorithm: 'sha512',
    signature: { header: 'x-sig', encoding: 'hexUpper', pair: 'sig', separator: ';' },
    signed: '{id}|{timestamp}|{body}',
    timestamp: { header: 'x-time', unit: 'iso' },
    id: { header: 'x-id' },
  }),
  'ed25519 in PEM': WebhookRecipe.parse({
    algorithm: 'ed25519',
    signature: { header: 'x-sig', encoding: 'base64url' },
    signed: '{timestamp}{body}',
    timestamp: { header: 'x-time', unit: 'milliseconds' },
    secretEncoding: 'pem',
  }),
}

const body = fc.uint8Array({ maxLength: 2000 })
const id = fc.string({ unit: fc.constantFrom(...'abcXYZ019_-:+/'), minLength: 1, maxLength: 256 })
const instant = fc.date({ min: new Date(0), max: new Date('2100-01-01'), noInvalidDate: true })
// HMAC fills a short key up with zeros: keys that differ only in zeros at their end are one key.
const keyBytes = fc.uint8Array({ min: 1, minLength: 1, maxLength: 100 })
const keyText = fc
  .string({ unit: 'grapheme', minLength: 1, maxLength: 50 })
  .filter((text) => text.trim() === text && !/\p{Cc}/u.test(text))

describe.for(Object.entries(recipes))('%s', ([name, recipe]) => {
  const sent = fc
    .record({ secret: secretsOf(name, recipe), id, body, sentAt: instant })
    .map((parts) => sentWebhook({ recipe, ...parts }))

  test('accepts whatever its sender signs', () => {
    fc.assert(
      fc.property(sent, (request) => {
        expect(verdictOf(request)).toBe('ok')
      }),
    )
  })

  test('refuses a signature in which one bit is another', () => {
    fc.assert(
      fc.property(sent, fc.nat(), fc.nat(7), (request, position, bit) => {
        const header = Object.keys(request.headers).find((key) => key === recipe.signature.header) ?? ''
        const flipped = flipBit(Buffer.from(String(request.headers[header]), 'latin1'), position, bit).toString(
          'latin1',
        )

        const verdict = verdictOf({ ...request, headers: { ...request.headers, [header]: flipped } })

        expect(verdict).not.toBe('ok')
      }),
    )
  })

  test('refuses what another secret signed', () => {
    const secrets = fc.uniqueArray(secretsOf(name, recipe), { minLength: 2, maxLength: 2 })

    fc.assert(
      fc.property(sent, secrets, (request, [first = '', second = '']) => {
        const { headers } = sentWebhook({ recipe, secret: first, body: request.body, sentAt: request.now })

        expect(verdictOf({ ...request, headers, secrets: [second] })).toBe('bad-signature')
      }),
    )
  })

  test('never throws, whatever the headers and the body are', () => {
    const names = [recipe.signature.header, recipe.timestamp?.header ?? 'x', 'webhook-id', '__proto__', 'constructor']
    const value = fc.oneof(
      fc.string(),
      fc.string({ unit: 'binary' }),
      fc.constantFrom('v1,', 't=1,v1=', 'sha256=', '1763632800'),
    )
    const headers = fc.dictionary(
      fc.oneof(fc.constantFrom(...names), fc.string()),
      fc.oneof(value, fc.array(value, { maxLength: 3 }), fc.constant(undefined)),
    )

    fc.assert(
      fc.property(sent, headers, body, (request, fuzzed, anyBody) => {
        const verdict = verifyWebhook({ ...request, headers: fuzzed, body: anyBody })

        expect(verdict.ok).toBeTypeOf('boolean')
      }),
      { numRuns: 300 },
    )
  })
})

const signing = Object.entries(recipes).filter(([, { algorithm }]) => algorithm !== 'token')

describe.for(signing)('%s', ([name, recipe]) => {
  test('refuses a body in which one bit is another', () => {
    const filled = fc.uint8Array({ minLength: 1, maxLength: 2000 })
    const sent = fc
      .record({ secret: secretsOf(name, recipe), id, body: filled, sentAt: instant })
      .map((parts) => sentWebhook({ recipe, ...parts }))

    fc.assert(
      fc.property(sent, fc.nat(), fc.nat(7), (request, position, bit) => {
        const changed = flipBit(Buffer.from(request.body), position, bit)

        expect(verdictOf({ ...request, body: changed })).toBe('bad-signature')
      }),
    )
  })
})

test('what is signed cannot be cut into id, time and body in another way', () => {
  const text = fc.string({ unit: fc.constantFrom('.', '1', '2', 'a'), maxLength: 12 })
  const toleranceSeconds = 1_000_000_000_000

  fc.assert(
    fc.property(text, fc.nat(30), fc.nat(30), (content, from, to) => {
      const request = sentWebhook({ body: content })
      const whole = `msg_1.1795168800.${content}`
      const first = Math.min(from, to)
      const second = Math.max(from, to)
      const [webhookId, time, rest] = [whole.slice(0, first), whole.slice(first + 1, second), whole.slice(second + 1)]
      const isOriginal = webhookId === 'msg_1' && time === '1795168800'

      const headers = { ...request.headers, 'webhook-id': webhookId, 'webhook-timestamp': time }
      const verdict = verdictOf({ ...request, headers, body: Buffer.from(rest), toleranceSeconds })

      expect(verdict === 'ok').toBe(isOriginal)
    }),
    { numRuns: 5000 },
  )
})

test('two events have the same key only when they are the same', () => {
  const settings = { recipe: 'bamboohr' as const, thin: false }
  const verified = (time: number | null) => ({
    ok: true as const,
    id: null,
    timestamp: time === null ? null : new Date(time),
  })
  const event = fc.record({
    time: fc.option(fc.constantFrom(1, 2, 11, 12, 121)),
    body: fc.uint8Array({ maxLength: 3, min: 0x30, max: 0x32 }),
  })

  fc.assert(
    fc.property(event, event, (a, b) => {
      const [first, second] = [a, b].map((each) =>
        deduplicationKey({ settings, verified: verified(each.time), body: each.body, value: null }),
      )

      const isSame = a.time === b.time && Buffer.compare(a.body, b.body) === 0
      expect(first?.key === second?.key).toBe(isSame)
    }),
    { numRuns: 5000 },
  )
})

function secretsOf(name: string, { secretEncoding }: WebhookRecipe): fc.Arbitrary<string> {
  if (name === 'standard-webhooks with a key pair') return fc.constantFrom(...privateKeys.map(labelled))
  if (secretEncoding === 'pem') return fc.constantFrom(...privateKeys.map(asPem))
  return secretEncoding === 'whsec'
    ? keyBytes.map((bytes) => `whsec_${Buffer.from(bytes).toString('base64')}`)
    : keyText
}

function labelled(key: KeyObject): string {
  return `whsk_${Buffer.from(key.export({ format: 'jwk' }).d ?? '', 'base64url').toString('base64')}`
}

function asPem(key: KeyObject): string {
  return key.export({ format: 'pem', type: 'pkcs8' }).toString()
}

function flipBit(bytes: Buffer, position: number, bit: number): Buffer {
  const index = position % bytes.length
  bytes[index] = (bytes[index] ?? 0) ^ (1 << bit)
  return bytes
}
