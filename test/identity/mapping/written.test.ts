import { describe, expect, test } from 'vitest'
import { Mapping } from '../../../src/identity/mapping/mapping.ts'

describe('a mapping in the configuration', () => {
  test('gets its defaults', () => {
    const { fields } = Mapping.parse({ fields: { identityId: 'id', separatedAt: 'end' } })

    expect(fields.separatedAt).toEqual({
      column: 'end',
      optional: false,
      onBlank: 'clear',
      format: 'yyyy-MM-dd',
      language: 'en',
      offsetDays: 0,
      means: 'lastDayWorked',
      future: 'defer',
    })
  })

  test.each([
    ['no key', { fields: {} }, ['fields', 'identityId']],
    ['an unknown field', { fields: { identityId: 'id', salary: 'x' } }, ['fields']],
    [
      'an unknown option',
      { fields: { identityId: 'id', email: { column: 'x', onBlnk: 'keep' } } },
      ['fields', 'email'],
    ],
    [
      'a two-digit year',
      { fields: { identityId: 'id', startedAt: { column: 'x', format: 'dd.MM.yy' } } },
      ['fields', 'startedAt', 'format'],
    ],
    ['no source of its text', { fields: { identityId: 'id', email: { onBlank: 'keep' } } }, ['fields', 'email']],
    [
      'two sources of its text',
      { fields: { identityId: 'id', email: { column: 'x', firstOf: ['y', 'z'] } } },
      ['fields', 'email'],
    ],
    [
      'a template without a column',
      { fields: { identityId: 'id', managerName: { template: 'Mrs {{First}}' } } },
      ['fields', 'managerName', 'template'],
    ],
    [
      'a template with an open brace',
      { fields: { identityId: 'id', managerName: { template: '{First} {Last' } } },
      ['fields', 'managerName', 'template'],
    ],
    [
      'an expression without end',
      { fields: { identityId: 'id', email: { expression: 'x'.repeat(2001) } } },
      ['fields', 'email', 'expression'],
    ],
    [
      'formats that contradict each other',
      { fields: { identityId: 'id', startedAt: { column: 'x', format: ['MM/dd/yyyy', 'dd/MM/yyyy'] } } },
      ['fields', 'startedAt', 'format'],
    ],
    [
      'a rank in a format that is none',
      { fields: { identityId: 'id' }, severalRows: { latest: { column: 'x', format: 'nonsense' } } },
      ['severalRows', 'latest', 'format'],
    ],
    ['an action without values', { fields: { identityId: 'id' }, action: { column: 'x' } }, ['action']],
    [
      'an action whose value means two things',
      { fields: { identityId: 'id' }, action: { column: 'x', join: ['New'], leave: [' new '] } },
      ['action'],
    ],
    ['a column of signs only', { fields: { identityId: '#' } }, ['fields', 'identityId']],
  ])('is refused with %s, with its path', (_, mapping, path) => {
    const { error } = Mapping.safeParse(mapping)

    expect(error?.issues[0]?.path).toEqual(path)
  })
})
