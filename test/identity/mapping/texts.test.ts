import { describe, expect, test } from 'vitest'
import { compileMapping, expressionsOf, Mapping } from '../../../src/identity/mapping/mapping.ts'
import { mapRow } from '../../helpers/map-row.ts'

describe('a template', () => {
  const name = (cells: Record<string, string>, template = '{First} {Middle} {Last}') =>
    mapRow({ fields: { identityId: 'id', managerName: { template } } }, { id: '1', ...cells })

  test.each([
    ['Ana', 'M.', 'Li', 'Ana M. Li'],
    [' Ana ', '', 'Li', 'Ana Li'],
    ['', '', 'Li', 'Li'],
    ['Ana', '  ', '', 'Ana'],
    ['Mary  Ann', '', 'Li', 'Mary  Ann Li'],
    ['', '', ' ', null],
  ])('makes one text of "%s", "%s" and "%s"', (First, Middle, Last, managerName) => {
    expect(name({ First, Middle, Last })).toMatchObject({ fields: { managerName } })
  })

  test('keeps doubled braces as braces, and finds its columns like every rule', () => {
    const mapped = name({ 'Last-Name': 'Li', FIRST: 'Ana' }, '{{{last name}}}, {First}')

    expect(mapped).toMatchObject({ fields: { managerName: '{Li}, Ana' } })
  })

  test('does not take the content of a cell for a column', () => {
    const mapped = name({ First: '{Last}', Middle: '$&', Last: '}' })

    expect(mapped).toMatchObject({ fields: { managerName: '{Last} $& }' } })
  })

  test('of the key needs all of its columns', () => {
    const mapping = { fields: { identityId: { template: '{Company}-{Number}' } } }

    const mapped = [mapRow(mapping, { Company: 'A', Number: '7' }), mapRow(mapping, { Company: 'A', Number: ' ' })]

    expect(mapped).toMatchObject([
      { identityId: 'A-7' },
      { identityId: null, column: 'Company, Number', reason: 'the cell is blank' },
    ])
  })

  test('names every missing column, and is not mapped if it is optional', () => {
    const compile = (optional: boolean) =>
      compileMapping(
        Mapping.parse({ fields: { identityId: 'id', managerName: { template: '{First} {Lost}', optional } } }),
        ['id', 'First', 'Last'],
      )

    expect(compile(false)).toEqual({
      ok: false,
      missing: ['column "Lost" (managerName) is not in the header; did you mean "Last"?'],
    })
    expect(compile(true)).toMatchObject({ ok: true, mapped: new Set() })
  })
})

describe('the first of several columns', () => {
  const email = { firstOf: [['Work Mail', 'Business Mail'], 'Private'], blankWhen: ['none'] }
  const mapping = { fields: { identityId: 'id', email } }

  test.each([
    ['a@example.com', 'b@example.com', 'a@example.com'],
    ['', 'b@example.com', 'b@example.com'],
    [' NONE ', 'b@example.com', 'b@example.com'],
    [' ', 'None', null],
  ])('of "%s" and "%s" is the one that is not blank', (work, home, expected) => {
    const mapped = mapRow(mapping, { id: '1', 'Business Mail': work, Private: home })

    expect(mapped).toMatchObject({ fields: { email: expected } })
  })

  test('loses a field that is damaged in any of them', () => {
    const cells = { id: '1', 'Work Mail': 'a@example.com', Private: 'b@example.com' }

    const mapped = mapRow(mapping, cells, { fault: { column: 2, reason: 'damaged' } })

    expect(mapped).toMatchObject({ identityId: '1', badCells: [{ column: 'Work Mail, Private', reason: 'damaged' }] })
  })

  test('uses the existing ones if it is optional', () => {
    const fields = { identityId: 'id', email: { ...email, optional: true } }

    expect(mapRow({ fields }, { id: '1', Private: 'b@example.com' })).toMatchObject({
      fields: { email: 'b@example.com' },
    })
    expect(() => mapRow(mapping, { id: '1', Private: 'b@example.com' })).toThrow(/none of the columns "Work Mail"/)
  })
})

describe('an expression', () => {
  const mapping = Mapping.parse({
    fields: {
      identityId: 'id',
      email: { expression: '$lowercase(Mail)', blankWhen: ['n/a'] },
      isContractor: { expression: 'Type', map: { ext: true, '*': false }, optional: true },
    },
    status: { expression: 'State', leftWhen: ['left'], employedWhen: ['x'] },
  })

  test('is listed with its path, in the order of the expected results', () => {
    expect(expressionsOf(mapping)).toEqual([
      { path: ['fields', 'email', 'expression'], text: '$lowercase(Mail)', optional: false },
      { path: ['fields', 'isContractor', 'expression'], text: 'Type', optional: true },
      { path: ['status', 'expression'], text: 'State', optional: false },
    ])
  })

  test('gives the text of its field, which is read like a cell', () => {
    const cells = { id: '1', Mail: 'x' }

    const mapped = [
      mapRow(mapping, cells, { derived: ['A@example.com', 'Ext', 'Left'] }),
      mapRow(mapping, cells, { derived: ['N/A', '', 'x'] }),
      mapRow(mapping, cells, { derived: ['Rosalind', '', 'x'] }),
    ]

    expect(mapped).toMatchObject([
      { fields: { email: 'a@example.com', isContractor: true }, statesDeparture: true },
      { fields: { email: null }, statesDeparture: false },
      { badCells: [{ column: 'the expression of email', reason: 'the cell does not hold an e-mail address' }] },
    ])
  })

  test('that failed loses its field', () => {
    const fault = { column: 2, reason: 'the expression failed' }

    const mapped = mapRow(mapping, { id: '1', Mail: 'x' }, { fault, derived: [undefined, '', ''] })

    expect(mapped).toMatchObject({
      identityId: '1',
      badCells: [{ column: 'the expression of email', reason: fault.reason }],
    })
  })

  test('that was not evaluated is a bug and not a blank', () => {
    expect(() => mapRow(mapping, { id: '1', Mail: 'x' })).toThrow(/not read through withExpressions/)
  })
})

describe('a text', () => {
  test.each(['NO_MANAGER', ' no_mgr '])('that means blank is blank: "%s"', (cell) => {
    const managerId = { column: 'mgr', blankWhen: ['NO_MANAGER', 'NO_MGR'] }

    const mapped = mapRow({ fields: { identityId: 'id', managerId } }, { id: '1', mgr: cell })

    expect(mapped).toMatchObject({ fields: { managerId: null } })
  })

  test('that means blank is blank in every kind of field', () => {
    const rule = (column: string) => ({ column, blankWhen: ['-'] })
    const fields = {
      identityId: 'id',
      email: rule('a'),
      isContractor: rule('b'),
      startedAt: rule('c'),
      separatedAt: rule('d'),
    }

    const mapped = mapRow(
      { fields, status: { ...rule('e'), leftWhen: ['-', 'x'] } },
      { id: '1', a: '-', b: '-', c: '-', d: '-', e: '-' },
    )

    expect(mapped).toMatchObject({
      fields: { email: null, isContractor: null, startedAt: null },
      leavingDate: null,
      statesDeparture: false,
    })
  })

  test('keeps surrounding blanks if it is not trimmed, and is blank if it has nothing else', () => {
    const fields = {
      identityId: { column: 'id', trim: false, lowercase: true },
      jobTitle: { column: 't', trim: false },
    }

    const mapped = [mapRow({ fields }, { id: ' A7', t: ' x ' }), mapRow({ fields }, { id: 'A7', t: '   ' })]

    expect(mapped).toMatchObject([
      { identityId: ' a7', fields: { jobTitle: ' x ' } },
      { identityId: 'a7', fields: { jobTitle: null } },
    ])
  })

  test.each([
    [{ offsetDays: -1 }, '2024-02-29'],
    [{ means: 'firstDayGone', offsetDays: 1 }, '2024-03-01'],
    [{ means: 'firstDayGone', offsetDays: -1 }, '2024-02-28'],
  ])('of a leaving date is moved by means and offsetDays: %j', (options, leavingDate) => {
    const fields = { identityId: 'id', separatedAt: { column: 'end', ...options } }

    expect(mapRow({ fields }, { id: '1', end: '2024-03-01' })).toMatchObject({ leavingDate })
  })
})
