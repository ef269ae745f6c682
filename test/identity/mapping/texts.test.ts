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

  test('holds doubled braces as braces, and finds its columns as every rule does', () => {
    const told = name({ 'Last-Name': 'Li', FIRST: 'Ana' }, '{{{last name}}}, {First}')

    expect(told).toMatchObject({ fields: { managerName: '{Li}, Ana' } })
  })

  test('does not take what a cell holds for a column', () => {
    const told = name({ First: '{Last}', Middle: '$&', Last: '}' })

    expect(told).toMatchObject({ fields: { managerName: '{Last} $& }' } })
  })

  test('that makes the key needs all of its columns', () => {
    const mapping = { fields: { identityId: { template: '{Company}-{Number}' } } }

    const told = [mapRow(mapping, { Company: 'A', Number: '7' }), mapRow(mapping, { Company: 'A', Number: ' ' })]

    expect(told).toMatchObject([
      { identityId: 'A-7' },
      { identityId: null, column: 'Company, Number', reason: 'the cell is blank' },
    ])
  })

  test('names every column that is missing, and is not mapped where it is optional', () => {
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
    const told = mapRow(mapping, { id: '1', 'Business Mail': work, Private: home })

    expect(told).toMatchObject({ fields: { email: expected } })
  })

  test('loses a field that is damaged in any of them', () => {
    const cells = { id: '1', 'Work Mail': 'a@example.com', Private: 'b@example.com' }

    const told = mapRow(mapping, cells, { fault: { column: 2, reason: 'damaged' } })

    expect(told).toMatchObject({ identityId: '1', badCells: [{ column: 'Work Mail, Private', reason: 'damaged' }] })
  })

  test('takes those that are there where it is optional', () => {
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

  test('is listed with its place, in the order in which results are expected', () => {
    expect(expressionsOf(mapping)).toEqual([
      { path: ['fields', 'email', 'expression'], text: '$lowercase(Mail)', optional: false },
      { path: ['fields', 'isContractor', 'expression'], text: 'Type', optional: true },
      { path: ['status', 'expression'], text: 'State', optional: false },
    ])
  })

  test('gives the text of its field, which is read like a cell', () => {
    const cells = { id: '1', Mail: 'x' }

    const told = [
      mapRow(mapping, cells, { derived: ['A@example.com', 'Ext', 'Left'] }),
      mapRow(mapping, cells, { derived: ['N/A', '', 'x'] }),
      mapRow(mapping, cells, { derived: ['Rosalind', '', 'x'] }),
    ]

    expect(told).toMatchObject([
      { fields: { email: 'a@example.com', isContractor: true }, statesDeparture: true },
      { fields: { email: null }, statesDeparture: false },
      { badCells: [{ column: 'the expression of email', reason: 'the cell does not hold an e-mail address' }] },
    ])
  })

  test('that failed loses its field', () => {
    const fault = { column: 2, reason: 'the expression failed' }

    const told = mapRow(mapping, { id: '1', Mail: 'x' }, { fault, derived: [undefined, '', ''] })

    expect(told).toMatchObject({
      identityId: '1',
      badCells: [{ column: 'the expression of email', reason: fault.reason }],
    })
  })

  test('that nobody evaluated is a bug and no blank', () => {
    expect(() => mapRow(mapping, { id: '1', Mail: 'x' })).toThrow(/not read through withExpressions/)
  })
})

describe('a text', () => {
  test.each(['NO_MANAGER', ' no_mgr '])('that stands for nothing is blank: "%s"', (cell) => {
    const managerId = { column: 'mgr', blankWhen: ['NO_MANAGER', 'NO_MGR'] }

    const told = mapRow({ fields: { identityId: 'id', managerId } }, { id: '1', mgr: cell })

    expect(told).toMatchObject({ fields: { managerId: null } })
  })

  test('that stands for nothing is blank in every kind of field', () => {
    const rule = (column: string) => ({ column, blankWhen: ['-'] })
    const fields = {
      identityId: 'id',
      email: rule('a'),
      isContractor: rule('b'),
      startedAt: rule('c'),
      separatedAt: rule('d'),
    }

    const told = mapRow(
      { fields, status: { ...rule('e'), leftWhen: ['-', 'x'] } },
      { id: '1', a: '-', b: '-', c: '-', d: '-', e: '-' },
    )

    expect(told).toMatchObject({
      fields: { email: null, isContractor: null, startedAt: null },
      leavingDate: null,
      statesDeparture: false,
    })
  })

  test('keeps the blanks around it where it is not trimmed, and is blank where it is nothing else', () => {
    const fields = {
      identityId: { column: 'id', trim: false, lowercase: true },
      jobTitle: { column: 't', trim: false },
    }

    const told = [mapRow({ fields }, { id: ' A7', t: ' x ' }), mapRow({ fields }, { id: 'A7', t: '   ' })]

    expect(told).toMatchObject([
      { identityId: ' a7', fields: { jobTitle: ' x ' } },
      { identityId: 'a7', fields: { jobTitle: null } },
    ])
  })

  test.each([
    [{ offsetDays: -1 }, '2024-02-29'],
    [{ means: 'firstDayGone', offsetDays: 1 }, '2024-03-01'],
    [{ means: 'firstDayGone', offsetDays: -1 }, '2024-02-28'],
  ])('of a leaving date is moved by what means and offsetDays say: %j', (options, leavingDate) => {
    const fields = { identityId: 'id', separatedAt: { column: 'end', ...options } }

    expect(mapRow({ fields }, { id: '1', end: '2024-03-01' })).toMatchObject({ leavingDate })
  })
})
