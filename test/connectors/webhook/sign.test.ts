import { createPublicKey, generateKeyPairSync, verify } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, test } from 'vitest'
import { namedRecipe } from '../../../src/connectors/webhook/named-recipes.ts'
import { WebhookRecipe } from '../../../src/connectors/webhook/recipe.ts'
import { signWebhook } from '../../../src/connectors/webhook/sign.ts'
import { secret, sentWebhook, verdictOf } from '../../helpers/sources/webhooks.ts'

const text = '{"name":"Zoë 👩‍💻","ids":[1,2]}'
const body = Buffer.from(text)

describe('the library of Standard Webhooks', () => {
  test('accepts what is signed here', () => {
    const now = new Date()
    const headers = signWebhook({ recipe: namedRecipe('standard-webhooks'), secret, id: 'msg_7', body, now })

    const read = new Webhook(secret).verify(text, headers)

    expect(read).toEqual(JSON.parse(text))
  })

  test('signs what is accepted here', () => {
    const now = new Date()
    const headers = {
      'webhook-id': 'msg_7',
      'webhook-timestamp': String(Math.floor(now.getTime() / 1000)),
      'webhook-signature': new Webhook(secret).sign('msg_7', now, text),
    }
    const request = { ...sentWebhook(), headers, body, now }

    const verdicts = [request, { ...request, body: Buffer.from(`${text} `) }].map(verdictOf)

    expect(verdicts).toEqual(['ok', 'bad-signature'])
  })
})

describe('signing', () => {
  const now = new Date('2026-11-20T10:00:00.123Z')

  test('gives the headers that the sender would send', () => {
    const sign = (name: Parameters<typeof namedRecipe>[0]) =>
      signWebhook({ recipe: namedRecipe(name), secret: 'dGhlIHNlY3JldA==', id: 'e7', body, now })

    expect(sign('finch')).toEqual({
      'Finch-Event-ID': 'e7',
      'Finch-Timestamp': '1795168800',
      'Finch-Signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    })
    expect(sign('bamboohr')).toEqual({
      'X-BambooHR-Timestamp': '1795168800',
      'X-BambooHR-Signature': expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(sign('hibob')).toEqual({ 'Bob-Signature': expect.stringMatching(/^[A-Za-z0-9+/]{86}==$/) })
    expect(sign('stripe')).toEqual({ 'Stripe-Signature': expect.stringMatching(/^t=1795168800,v1=[0-9a-f]{64}$/) })
    expect(sign('github')).toEqual({ 'X-Hub-Signature-256': expect.stringMatching(/^sha256=[0-9a-f]{64}$/) })
    expect(sign('kombo')).toEqual({ 'X-Kombo-Signature': expect.stringMatching(/^[A-Za-z0-9_-]{43}$/) })
    expect(sign('personio')).toEqual({ Authorization: 'dGhlIHNlY3JldA==' })
  })

  test('uses a private key where there is one', () => {
    const { privateKey } = generateKeyPairSync('ed25519')
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' }).toString()
    const recipe = WebhookRecipe.parse({
      algorithm: 'ed25519',
      signature: { header: 'X-Signature', encoding: 'hex' },
      secretEncoding: 'pem',
    })

    const { 'X-Signature': signature = '' } = signWebhook({ recipe, secret: pem, id: 'e7', body, now })

    expect(verify(null, body, createPublicKey(privateKey), Buffer.from(signature, 'hex'))).toBe(true)
  })

  test('reads a private key with and without the public half behind it', () => {
    const jwk = generateKeyPairSync('ed25519').privateKey.export({ format: 'jwk' })
    const [seed, publicHalf] = [jwk.d, jwk.x].map((part) => Buffer.from(part ?? '', 'base64url'))
    const sign = (...parts: (Buffer | undefined)[]) =>
      signWebhook({
        recipe: namedRecipe('standard-webhooks'),
        secret: `whsk_${Buffer.concat(parts.filter((part) => part !== undefined)).toString('base64')}`,
        ...{ id: 'e7', body, now },
      })

    const signed = [sign(seed), sign(seed, publicHalf)]

    expect(signed[0]).toEqual(signed[1])
    expect(signed[0]?.['webhook-signature']).toMatch(/^v1a,/)
  })

  test('is refused with a public key, since only the sender can', () => {
    const whpk = `whpk_${Buffer.alloc(32, 1).toString('base64')}`

    const sign = () => signWebhook({ recipe: namedRecipe('standard-webhooks'), secret: whpk, id: 'e7', body, now })

    expect(sign).toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringMatching(/only the sender can/) }),
    )
  })

  test.for(['', 'a.b', 'a b', 'ä', 'x'.repeat(257)])('is refused for an id that nobody would accept (%s)', (id) => {
    const sign = () => signWebhook({ recipe: namedRecipe('standard-webhooks'), secret, id, body, now })

    expect(sign).toThrow(
      expect.objectContaining({ code: 'usage', message: expect.stringMatching(/^the id of the event/) }),
    )
  })
})
