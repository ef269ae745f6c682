import { describe, expect, test } from 'vitest'
import { mapRow } from '../../helpers/map-row.ts'

describe('an invisible character', () => {
  const mapping = { fields: { identityId: 'id', managerId: 'manager' } }

  test.each([
    ['U+200B', '\u200b'],
    ['U+200C', '\u200c'],
    ['U+200D', '\u200d'],
    ['U+200E', '\u200e'],
    ['U+2060', '\u2060'],
    ['U+FEFF', '\ufeff'],
    ['U+00AD', '\u00ad'],
  ])('is removed from a key: %s', (name, character) => {
    const keys = [`${character}10${character}01${character}`, ` ${character} 1001`, `1001${character} `]

    const mapped = keys.map((key) => mapRow(mapping, { id: key, manager: key }))

    expect(mapped).toMatchObject(keys.map(() => ({ identityId: '1001', fields: { managerId: '1001' } })))
    expect(mapRow(mapping, { id: `${character}${character}`, manager: '' })).toMatchObject({
      identityId: null,
      column: 'id',
      reason:
        character.trim() === '' ? 'the cell is blank' : `the cell holds only characters that show nothing (${name})`,
    })
  })

  test('is the only thing removed from a key', () => {
    const mapped = ['Ö-1', '李雷', 'é1'].map((key) => mapRow(mapping, { id: key, manager: '' }))

    expect(mapped).toMatchObject([{ identityId: 'Ö-1' }, { identityId: '李雷' }, { identityId: 'é1'.normalize('NFC') }])
  })

  test('is ignored in the name of a column', () => {
    const mapped = mapRow({ fields: { identityId: 'Worker ID' } }, { '\u200bWorker\u200b ID\ufeff': '1001' })

    expect(mapped).toMatchObject({ identityId: '1001' })
  })

  test('stays in a name, where some languages need it', () => {
    const mapped = mapRow({ fields: { identityId: 'id', lastName: 'name' } }, { id: '1', name: 'علی\u200cرضا' })

    expect(mapped).toMatchObject({ fields: { lastName: 'علی\u200cرضا' } })
  })
})
