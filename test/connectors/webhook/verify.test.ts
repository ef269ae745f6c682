import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { namedRecipe, type RecipeName } from '../../../src/connectors/webhook/named-recipes.ts'
import { WebhookRecipe } from '../../../src/connectors/webhook/recipe.ts'
import { verifyWebhook } from '../../../src/connectors/webhook/verify.ts'
import { secret, sentWebhook, verdictOf } from '../../helpers/sources/webhooks.ts'

const seconds = '1763632800'
const at = new Date(Number(seconds) * 1000)
const json = '{"employee":{"id":"4711"}}'

describe('the signature of a request', () => {
  test('fits as in the reference vector of Standard Webhooks', () => {
    const verdict = verifyWebhook({
      recipe: namedRecipe('standard-webhooks'),
      secrets: ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      headers: {
        'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
        'webhook-timestamp': '1614265330',
        'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
      },
      body: Buffer.from('{"test": 2432232314}'),
      now: new Date(1_614_265_330_000),
      toleranceSeconds: 300,
    })

    expect(verdict).toEqual({ ok: true, id: 'msg_p5jXN8AQM9LWM0D4loKWxJek', timestamp: new Date(1_614_265_330_000) })
  })

  test('fits as in the vector of the documentation of GitHub', () => {
    const verdict = verifyWebhook({
      recipe: namedRecipe('github'),
      secrets: ["It's a Secret to Everybody"],
      headers: {
        'X-Hub-Signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
      },
      body: Buffer.from('Hello, World!'),
      now: at,
      toleranceSeconds: 300,
    })

    expect(verdict).toEqual({ ok: true, id: null, timestamp: null })
  })

  test.for<[RecipeName, Record<string, string>]>([
    [
      'finch',
      {
        'Finch-Event-ID': 'evt_1',
        'Finch-Timestamp': seconds,
        'Finch-Signature': `v1,${mac('sha256', Buffer.from('c2VjcmV0', 'base64'), `evt_1.${seconds}.${json}`, 'base64')}`,
      },
    ],
    [
      'bamboohr',
      {
        'X-BambooHR-Timestamp': seconds,
        'X-BambooHR-Signature': mac('sha256', 'c2VjcmV0', `${json}${seconds}`, 'hex'),
      },
    ],
    [
      'bamboohr',
      {
        'X-BambooHR-Timestamp': '2025-11-20T10:00:00Z',
        'X-BambooHR-Signature': mac('sha256', 'c2VjcmV0', `${json}2025-11-20T10:00:00Z`, 'hex'),
      },
    ],
    ['hibob', { 'Bob-Signature': mac('sha512', 'c2VjcmV0', json, 'base64') }],
    ['personio', { Authorization: 'c2VjcmV0' }],
    ['merge', { 'X-Merge-Webhook-Signature': mac('sha256', 'c2VjcmV0', json, 'base64url') }],
    ['merge', { 'X-Merge-Webhook-Signature': `${mac('sha256', 'c2VjcmV0', json, 'base64url')}=` }],
    ['gusto', { 'X-Gusto-Signature': mac('sha256', 'c2VjcmV0', json, 'hex') }],
    ['deel', { 'x-deel-signature': mac('sha256', 'c2VjcmV0', `POST${json}`, 'hex') }],
    [
      'stripe',
      { 'Stripe-Signature': `t=${seconds},v1=${mac('sha256', 'c2VjcmV0', `${seconds}.${json}`, 'hex')},v0=6ffbb5` },
    ],
    ['kombo', { 'X-Kombo-Signature': mac('sha256', 'c2VjcmV0', json, 'base64url') }],
  ])('fits as %s writes it (%o)', ([name, headers]) => {
    const request = { recipe: namedRecipe(name), headers, body: Buffer.from(json), now: at, toleranceSeconds: 300 }

    const verdicts = ['c2VjcmV0', 'b3RoZXI='].map((each) => verdictOf({ ...request, secrets: [each] }))

    expect(verdicts).toEqual(['ok', 'bad-signature'])
  })

  test('fits under a recipe of the configuration', () => {
    const recipe = WebhookRecipe.parse({
      algorithm: 'sha512',
      signature: { header: 'X-Sig', encoding: 'hexUpper', prefix: 'v2:', separator: '|' },
      signed: '{timestamp}#{id}#POST:{body}',
      timestamp: { header: 'X-Time', unit: 'milliseconds' },
      id: { header: 'X-Id' },
      secretEncoding: 'hex',
    })
    const signature = mac('sha512', Buffer.from('00ff7a', 'hex'), `${seconds}123#e1#POST:${json}`, 'hex').toUpperCase()
    const headers = { 'x-sig': `v1:00|v2:${signature}`, 'x-time': `${seconds}123`, 'x-id': 'e1' }

    const verdict = verifyWebhook({
      ...{ recipe, headers, body: Buffer.from(json), now: at, toleranceSeconds: 300 },
      secrets: ['00FF7a'],
    })

    expect(verdict).toEqual({ ok: true, id: 'e1', timestamp: new Date(at.getTime() + 123) })
  })

  test('may be an ed25519 one, by the label of the secret', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ed25519')
    const whpk = `whpk_${Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('base64')}`
    const signature = sign(null, Buffer.from(`msg_1.${seconds}.${json}`), privateKey).toString('base64')
    const request = {
      recipe: namedRecipe('standard-webhooks'),
      headers: { 'webhook-id': 'msg_1', 'webhook-timestamp': seconds, 'webhook-signature': `v1,AAAA v1a,${signature}` },
      body: Buffer.from(json),
      now: at,
      toleranceSeconds: 300,
    }

    const verdicts = [[whpk], [secret, whpk], [secret]].map((secrets) => verdictOf({ ...request, secrets }))

    expect(verdicts).toEqual(['ok', 'ok', 'bad-signature'])
  })

  test('is never made with a public key as if it were a shared secret', () => {
    const { publicKey } = generateKeyPairSync('ed25519')
    const raw = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url')
    const forged = mac('sha256', raw, `msg_1.${seconds}.${json}`, 'base64')

    const verdicts = [`v1,${forged}`, `v1a,${forged}`].map((signature) =>
      verdictOf({
        recipe: namedRecipe('standard-webhooks'),
        secrets: [`whpk_${raw.toString('base64')}`],
        headers: { 'webhook-id': 'msg_1', 'webhook-timestamp': seconds, 'webhook-signature': signature },
        body: Buffer.from(json),
        now: at,
        toleranceSeconds: 300,
      }),
    )

    expect(verdicts).toEqual(['bad-signature', 'bad-signature'])
  })

  test('is that of the bytes, also where they are no text', () => {
    const body = Buffer.from([0x7b, 0xff, 0xfe, 0x00, 0xc3, 0x28, 0x7d])
    const request = sentWebhook({ body })

    const verdicts = [body, Buffer.from(body.toString('utf8'))].map((each) => verdictOf({ ...request, body: each }))

    expect(verdicts).toEqual(['ok', 'bad-signature'])
  })

  test('may be of any of the secrets that are valid', () => {
    const old = sentWebhook({ secret })
    const fresh = sentWebhook({ secret: 'whsec_bmV3IHNlY3JldA==' })
    const secrets = [...fresh.secrets, ...old.secrets]

    const verdicts = [old, fresh].map((request) => verdictOf({ ...request, secrets }))

    expect(verdicts).toEqual(['ok', 'ok'])
  })

  test('may be any of those that the sender lists', () => {
    const request = sentWebhook()
    const one = String(request.headers['webhook-signature'])

    const headers = { ...request.headers, 'webhook-signature': `v2,abc v1,${'A'.repeat(43)}= ${one} v1a,x` }

    expect(verdictOf({ ...request, headers })).toBe('ok')
  })

  test('is found whatever the case of the names of the headers', () => {
    const request = sentWebhook()

    const headers = Object.fromEntries(
      Object.entries(request.headers).map(([name, value]) => [name.toUpperCase(), [String(value)]]),
    )

    expect(verdictOf({ ...request, headers })).toBe('ok')
  })
})

function mac(algorithm: string, key: string | Buffer, text: string, encoding: 'hex' | 'base64' | 'base64url'): string {
  return createHmac(algorithm, key).update(text).digest(encoding)
}
