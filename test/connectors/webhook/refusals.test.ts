import { describe, expect, test } from 'vitest'
import { namedRecipe, type RecipeName } from '../../../src/connectors/webhook/named-recipes.ts'
import { WebhookRecipe } from '../../../src/connectors/webhook/recipe.ts'
import { verifyWebhook } from '../../../src/connectors/webhook/verify.ts'
import { sentAt, sentWebhook, verdictOf } from '../../helpers/sources/webhooks.ts'

describe('the signature of a request', () => {
  test.for<[string, Record<string, string | string[] | undefined>, string]>([
    ['without its signature', { 'webhook-signature': undefined }, 'unsigned'],
    ['with a blank signature', { 'webhook-signature': '' }, 'unsigned'],
    ['with its signature twice', { 'webhook-signature': ['v1,a', 'v1,a'] }, 'malformed'],
    ['with its signature twice, in another case', { 'Webhook-Signature': 'v1,a' }, 'malformed'],
    ['with too many signatures', { 'webhook-signature': 'v1,a '.repeat(17).trim() }, 'malformed'],
    ['with a signature of 9 KB', { 'webhook-signature': 'a'.repeat(9000) }, 'malformed'],
    ['with a signature of another version', { 'webhook-signature': 'v2,AAAA' }, 'bad-signature'],
    ['with a signature that is no base64', { 'webhook-signature': 'v1,§§§' }, 'bad-signature'],
    ['with another id', { 'webhook-id': 'msg_2' }, 'bad-signature'],
    ['without its id', { 'webhook-id': undefined }, 'malformed'],
    ['with an id that holds the separator', { 'webhook-id': 'msg.1' }, 'malformed'],
    ['with an id of two words', { 'webhook-id': 'msg 1' }, 'malformed'],
    ['without its time', { 'webhook-timestamp': undefined }, 'malformed'],
    ['with its time twice', { 'webhook-timestamp': ['1', '1'] }, 'malformed'],
    ['with a time that is no number', { 'webhook-timestamp': '17636x' }, 'malformed'],
    ['with a time with a fraction', { 'webhook-timestamp': '1763632800.0' }, 'malformed'],
    ['with a time with a leading zero', { 'webhook-timestamp': '01763632800' }, 'malformed'],
    ['with a time in hexadecimal', { 'webhook-timestamp': '0x691ee9a0' }, 'malformed'],
    ['with a time below zero', { 'webhook-timestamp': '-1' }, 'malformed'],
    ['with a time beyond all calendars', { 'webhook-timestamp': '9999999999999999' }, 'malformed'],
    ['with another time', { 'webhook-timestamp': '1795168801' }, 'bad-signature'],
  ])('is refused %s', ([, changes, expected]) => {
    const request = sentWebhook()

    const verdict = verdictOf({ ...request, headers: { ...request.headers, ...changes } })

    expect(verdict).toBe(expected)
  })

  test('is refused where a pair of its header stands twice, so that nobody has to choose', () => {
    const request = sentWebhook({ recipe: 'stripe', secret: 'whsec_as_it_is' })

    const headers = { 'stripe-signature': `t=1,${request.headers['Stripe-Signature']}` }

    expect(verdictOf({ ...request, headers })).toBe('malformed')
  })

  test('is refused in another spelling of the same bytes', () => {
    const request = sentWebhook({ recipe: 'github', secret: 'plain' })
    const [, hex = ''] = /^sha256=(.*)$/.exec(String(request.headers['X-Hub-Signature-256'])) ?? []

    const verdicts = [hex.toUpperCase(), `${hex}==`, `${hex}00`, ` ${hex}`, hex].map((text) =>
      verdictOf({ ...request, headers: { 'x-hub-signature-256': `sha256=${text}` } }),
    )

    expect(verdicts).toEqual(['bad-signature', 'bad-signature', 'bad-signature', 'bad-signature', 'ok'])
  })
})

describe('the time of a request', () => {
  test.for([
    [-300_001, 'too-new'],
    [-300_000, 'ok'],
    [0, 'ok'],
    [300_000, 'ok'],
    [300_001, 'too-old'],
    [365 * 24 * 60 * 60_000, 'too-old'],
  ] as const)('is accepted up to the tolerance: %d ms later it is %s', ([laterMs, expected]) => {
    const request = sentWebhook()

    const verdict = verdictOf({ ...request, now: new Date(sentAt.getTime() + laterMs) })

    expect(verdict).toBe(expected)
  })

  test('is told about only when the signature fits', () => {
    const request = { ...sentWebhook(), now: new Date(sentAt.getTime() + 3_600_000) }

    const verdict = verdictOf({ ...request, body: Buffer.from('{"id":"8"}') })

    expect(verdict).toBe('bad-signature')
  })
})

describe('a refusal', () => {
  test.for([
    [
      { secrets: ['whsec_b3RoZXI='] },
      /^no signature that begins with v1, in the header webhook-signature fits: the secret is/,
    ],
    [{ headers: {} }, 'the header webhook-signature is missing'],
    [
      { now: new Date(sentAt.getTime() + 400_000) },
      /^the signature is 400 s old, 300 s are allowed: it was sent late or/,
    ],
  ] as const)('says what is wrong (%#)', ([changes, expected]) => {
    const verdict = verifyWebhook({ ...sentWebhook(), ...changes })

    expect(verdict).toMatchObject({ ok: false, message: expect.stringMatching(expected) })
  })

  test('tells nothing that could be used or that is personal', () => {
    const body = '{"email":"ana@example.com"}'
    const request = sentWebhook({ recipe: 'personio', secret: 'a-token-of-theirs', body })

    const verdict = verifyWebhook({ ...request, headers: { authorization: 'a-token-of-mine' } })

    expect(verdict).toEqual({
      ok: false,
      reason: 'bad-signature',
      message: 'the header Authorization holds another token',
    })
  })
})

describe('a secret that cannot be used', () => {
  test.for<[string, RecipeName, string, RegExp]>([
    ['is empty', 'github', '', /is empty/],
    ['is empty behind its label', 'standard-webhooks', 'whsec_', /is empty/],
    ['is cut off', 'standard-webhooks', 'whsec_MfKQ9', /is not base64/],
    ['is a public key that was cut off', 'standard-webhooks', 'whpk_MfKQ', /has not the length of an ed25519 key/],
    ['is a public key for a sender without', 'finch', 'whpk_MfKQ', /holds an ed25519 key/],
    ['is a token with a line end in it', 'personio', 'one\ntwo', /holds a control character/],
  ])('stops everything when it %s', ([, name, bad, expected]) => {
    const verify = () =>
      verifyWebhook({
        ...{ recipe: namedRecipe(name), secrets: ['c2VjcmV0', bad] },
        ...{ headers: {}, body: Buffer.from('{}'), now: sentAt, toleranceSeconds: 300 },
      })

    expect(verify).toThrow(
      expect.objectContaining({ code: 'config_invalid', message: expect.stringMatching(expected) }),
    )
  })

  test('is not repeated in the message', () => {
    const recipe = WebhookRecipe.parse({ algorithm: 'ed25519', signature: { header: 'x' }, secretEncoding: 'pem' })
    const bad = '-----BEGIN PUBLIC KEY-----\nTk9LRVk=\n-----END PUBLIC KEY-----'

    const verify = () => verdictOf({ ...sentWebhook(), recipe, secrets: [bad] })

    expect(verify).toThrow(/^a secret of the webhook cannot be read as an ed25519 key: check that all of it was copied/)
    expect(verify).not.toThrow(/Tk9LRVk/)
  })
})
