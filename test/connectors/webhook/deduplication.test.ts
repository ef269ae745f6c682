import { describe, expect, test } from 'vitest'
import { readJson } from '../../../src/connectors/json/cells.ts'
import { deduplicationKey } from '../../../src/connectors/webhook/deduplication.ts'
import type { WebhookSettings } from '../../../src/connectors/webhook/settings.ts'

type Settings = Pick<WebhookSettings, 'recipe' | 'id'> & { readonly thin?: boolean }

describe('the key of an event', () => {
  test.for<[string, Settings, string, string | null, string | null]>([
    ['the signed header', { recipe: 'standard-webhooks' }, '{"id":"b"}', 'msg_1', 'msg_1'],
    ['the body, where the sender has it there', { recipe: 'kombo' }, '{"id":"b"}', null, 'b'],
    ['the body, as a number', { recipe: 'gusto' }, '{"uuid":12345678901234567890}', null, '12345678901234567890'],
    ['the place in the settings', { recipe: 'standard-webhooks', id: '/data/no' }, '{"data":{"no":"7"}}', 'msg_1', '7'],
    ['nowhere: the header instead', { recipe: 'standard-webhooks', id: '/no' }, '{}', 'msg_1', 'msg_1'],
    ['nowhere', { recipe: 'kombo' }, '{"no":1}', null, null],
    ['an object, which is no id', { recipe: 'kombo' }, '{"id":{"a":1}}', null, null],
    ['a blank, which is no id', { recipe: 'kombo' }, '{"id":""}', null, null],
    ['a text too long for an id', { recipe: 'kombo' }, `{"id":"${'x'.repeat(257)}"}`, null, null],
    ['what every object inherits', { recipe: 'kombo', id: '/constructor/name' }, '{}', null, null],
  ])('comes from %s', ([, settings, body, header, expected]) => {
    const { id, key } = keyOf(settings, body, { id: header })

    expect(id).toBe(expected)
    expect(key).toMatch(/^[0-9a-f]{64}$/)
  })

  test('is that of the id, whatever else the event says', () => {
    const keys = ['{"id":"1","try":1}', '{"id":"1","try":2}', '{"id":"2","try":1}'].map(
      (body) => keyOf({ recipe: 'kombo' }, body).key,
    )

    expect(keys[0]).toBe(keys[1])
    expect(keys[0]).not.toBe(keys[2])
  })

  test('is that of the body where there is no id', () => {
    const keys = ['{"a":1}', '{"a":1}', '{"a": 1}'].map((body) => keyOf({ recipe: 'merge' }, body).key)

    expect(keys[0]).toBe(keys[1])
    expect(keys[0]).not.toBe(keys[2])
  })

  test('is another one for each notice without an id: it says only that something has changed again', () => {
    const notices = ['{"a":1}', '{"a":1}'].map((body) => keyOf({ recipe: 'merge', thin: true }, body))
    const named = ['{"id":"1"}', '{"id":"1"}'].map((body) => keyOf({ recipe: 'kombo', thin: true }, body))

    expect(notices[0]?.key).not.toBe(notices[1]?.key)
    expect(named[0]?.key).toBe(named[1]?.key)
  })

  test('differs for the same words at another time, so that somebody can leave, return and leave again', () => {
    const body = '{"employees":[{"id":"7","fields":{"status":{"value":"Inactive"}}}]}'

    const keys = ['2026-11-18', '2026-11-20', '2026-11-18'].map(
      (day) => keyOf({ recipe: 'bamboohr' }, body, { timestamp: new Date(day) }).key,
    )

    expect(keys[0]).not.toBe(keys[1])
    expect(keys[0]).toBe(keys[2])
  })

  test('is never that of a body which spells an id', () => {
    const spelled = keyOf({ recipe: 'merge' }, '"msg_1"').key

    expect(spelled).not.toBe(keyOf({ recipe: 'standard-webhooks' }, '{}', { id: '"msg_1"' }).key)
  })
})

function keyOf(
  settings: Settings,
  body: string,
  { id = null, timestamp = null }: { id?: string | null; timestamp?: Date | null } = {},
) {
  const bytes = Buffer.from(body)
  const value = readJson(bytes, { name: 'the body' })
  return deduplicationKey({
    settings: { thin: false, ...settings },
    verified: { ok: true, id, timestamp },
    body: bytes,
    value,
  })
}
