import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'
import { isReject } from '../../../src/identity/mapping/rows.ts'
import { mapRow } from '../../helpers/map-row.ts'

describe('a row', () => {
  test('becomes an observation of only the mapped fields', () => {
    const fields = {
      identityId: 'Worker ID',
      email: 'Email',
      isContractor: { column: 'Type', map: { Contractor: true, '*': false } },
    }
    const cells = { 'Worker ID': '0042', Salary: '1000000', Email: ' Ana.Li@Example.COM ', Type: 'contractor' }

    const mapped = mapRow({ fields }, cells)

    expect(mapped).toEqual({
      identityId: '0042',
      fields: { email: 'ana.li@example.com', isContractor: true },
      leavingDate: undefined,
      statesDeparture: false,
      statesEmployed: false,
      isUncertain: false,
      hasEmploymentCell: false,
      origin: { file: 'people.csv', line: 41 },
    })
  })

  test('gives dates in the format of the platform', () => {
    const format = 'dd/MM/yyyy'
    const fields = { identityId: 'id', startedAt: { column: 'start', format }, separatedAt: { column: 'end', format } }

    const mapped = mapRow({ fields }, { id: '1', start: '29/02/2024', end: '30/06/2025' })

    expect(mapped).toMatchObject({
      fields: { startedAt: '2024-02-29T00:00:00.000Z' },
      leavingDate: '2025-06-30',
      hasEmploymentCell: true,
    })
  })

  test('that names the first day gone states the day before as the last one', () => {
    const fields = { identityId: 'id', separatedAt: { column: 'end', means: 'firstDayGone' } }

    const mapped = mapRow({ fields }, { id: '1', end: '2024-03-01' })

    expect(mapped).toMatchObject({ leavingDate: '2024-02-29' })
  })

  const status = { column: 'status', leftWhen: ['Inactive', 'terminated'], employedWhen: ['active', 'On leave'] }

  test.each([
    [' INACTIVE ', { statesDeparture: true, statesEmployed: false, isUncertain: false, hasEmploymentCell: true }],
    ['Terminated', { statesDeparture: true, statesEmployed: false, isUncertain: false, hasEmploymentCell: true }],
    ['Active', { statesDeparture: false, statesEmployed: true, isUncertain: false, hasEmploymentCell: true }],
    ['On leave', { statesDeparture: false, statesEmployed: true, isUncertain: false, hasEmploymentCell: true }],
    ['', { statesDeparture: false, statesEmployed: false, isUncertain: false, hasEmploymentCell: false }],
    ['Furlough', { statesDeparture: false, statesEmployed: false, isUncertain: true, hasEmploymentCell: false }],
  ])('with the status "%s" states %j', (cell, facts) => {
    expect(mapRow({ fields: { identityId: 'id' }, status }, { id: '1', status: cell })).toMatchObject(facts)
  })

  test.each([
    ['Inactive', '2025-06-30', { statesDeparture: false, leavingDate: '2025-06-30', isUncertain: true }],
    ['Inactive', '', { statesDeparture: true, leavingDate: null, isUncertain: false }],
    ['Inactive', 'soon', { statesDeparture: false, leavingDate: undefined, isUncertain: true }],
    ['Active', '2025-06-30', { statesDeparture: false, leavingDate: '2025-06-30', isUncertain: false }],
  ])('whose system sets the status ahead leaves on the date: "%s" and "%s"', (cell, end, facts) => {
    const mapping = { fields: { identityId: 'id', separatedAt: 'end' }, status, statusMeans: 'onDate' }

    expect(mapRow(mapping, { id: '1', status: cell, end })).toMatchObject(facts)
  })

  test('normalises its text, so that one name is equal however it was typed', () => {
    const fields = { identityId: 'id', firstName: 'name' }

    const mapped = mapRow({ fields }, { id: 'jose\u0301', name: '\uFEFF Zoe\u0308\u00A0' })

    expect(mapped).toMatchObject({ identityId: 'jos\u00e9', fields: { firstName: 'Zo\u00eb' } })
  })

  test('that is shorter than the header does not state the missing cells', () => {
    const compiled = compileMapping(Mapping.parse({ fields: { identityId: 'id', jobTitle: 'title' } }), ['id', 'title'])

    const mapped = compiled.ok && compiled.map({ values: ['1'], origin: { file: 'people.csv', line: 2 } })

    expect(mapped).toMatchObject({ identityId: '1', fields: {} })
    expect(mapped).not.toHaveProperty('fields.jobTitle')
  })

  test.each([
    ['clear', { fields: { jobTitle: null } }],
    ['keep', { fields: {} }],
    [
      'reject',
      { fields: {}, tooLittleToJoin: 'title: the cell is blank', badCells: [{ reason: 'the cell is blank' }] },
    ],
  ])('with a blank cell under "%s"', (onBlank, expected) => {
    const mapped = mapRow(
      { fields: { identityId: 'id', jobTitle: { column: 'title', onBlank } } },
      { id: '1', title: '  ' },
    )

    expect(mapped).toMatchObject(expected)
  })

  test.each([
    ['Yes', true],
    ['FALSE', false],
    ['1', true],
    ['0', false],
    ['', null],
  ])('reads "%s" as contractor: %s', (cell, isContractor) => {
    const mapped = mapRow({ fields: { identityId: 'id', isContractor: 'c' } }, { id: '1', c: cell })

    expect(mapped).toMatchObject({ fields: { isContractor } })
  })

  test('may be mapped to other texts', () => {
    const jobTitle = { column: 'title', map: { ENG: 'Engineer', none: null, '': 'Unknown' } }

    const titles = ['eng', 'None', ''].map((title) =>
      mapRow({ fields: { identityId: 'id', jobTitle } }, { id: '1', title }),
    )

    expect(titles).toMatchObject([
      { fields: { jobTitle: 'Engineer' } },
      { fields: { jobTitle: null } },
      { fields: { jobTitle: 'Unknown' } },
    ])
  })
})

describe('a row with a cell that cannot be read', () => {
  const mapping = {
    fields: {
      identityId: 'Worker ID',
      email: 'Email',
      jobTitle: 'Title',
      isContractor: { column: 'Type', map: { Employee: false, Contractor: true } },
      startedAt: { column: 'Hire Date', format: 'dd/MM/yyyy' },
      separatedAt: 'Leaving Date',
    },
    status: { column: 'Status', leftWhen: ['Left'], employedWhen: ['Active'] },
  }
  const good = {
    'Worker ID': '1222',
    Email: 'ana@example.com',
    Title: 'Engineer',
    Type: 'Employee',
    'Hire Date': '01/02/2020',
    'Leaving Date': '',
    Status: 'Active',
    Salary: '1',
  }

  test('differs from a row without one', () => {
    expect(isReject(mapRow(mapping, good))).toBe(false)
  })

  const secret = 'Rosalind'
  test.each<[string, Partial<typeof good>, string, RegExp]>([
    [
      'an impossible date',
      { 'Hire Date': '31/02/2025' },
      'Hire Date',
      /^"31\/02\/2025" is not a date \(dd\/MM\/yyyy\): there is no such day;/,
    ],
    [
      'a number among dates',
      { 'Leaving Date': '078-05-1120' },
      'Leaving Date',
      /^what the cell holds is not a date \(yyyy-MM-dd\): have it corrected/,
    ],
    ['a name among dates', { 'Leaving Date': secret }, 'Leaving Date', /^what the cell holds is not a date/],
    ['no address', { Email: `${secret} at example` }, 'Email', /does not hold an e-mail address/],
    [
      'an address too long',
      { Email: `${secret}${'a'.repeat(190)}@example.com` },
      'Email',
      /holds 210 characters; the platform takes 191/,
    ],
    ['a text too long', { Title: secret.repeat(24) }, 'Title', /holds 192 characters; the platform takes 191/],
    ['a NUL', { Title: `${secret}\0` }, 'Title', /control character/],
    ['a line end', { Title: `${secret}\nx` }, 'Title', /control character/],
    ['half a character', { Title: `${secret}\ud83d` }, 'Title', /lone surrogate/],
    ['an unlisted value', { Type: secret }, 'Type', /does not list; listed are Employee, Contractor/],
    ['an unlisted status', { Status: secret }, 'Status', /neither in leftWhen nor in employedWhen/],
  ])(
    'names line, column and reason, and contains no personal data besides the cell: %s',
    (_, cells, column, reason) => {
      const mayLeave = ['Leaving Date', 'Status'].includes(column)
      const fault = { line: 41, column, reason: expect.stringMatching(reason), identityId: '1222', mayLeave }

      const mapped = mapRow(mapping, { ...good, ...cells })
      const rejected = mapRow({ ...mapping, onBadCell: 'rejectRow' }, { ...good, ...cells })

      expect(mapped).toMatchObject({ identityId: '1222', badCells: [{ ...fault, cellOnly: true }] })
      expect(rejected).toMatchObject({ ...fault, cellOnly: false })
      const [bad] = 'badCells' in mapped ? (mapped.badCells ?? []) : []
      expect(JSON.stringify({ ...bad, unlisted: null, cell: null })).not.toContain(secret)
    },
  )

  test('keeps its other cells: a leaver with the address DISABLED leaves', () => {
    const cells = {
      Email: 'DISABLED',
      Title: 'x'.repeat(200),
      Type: 'n/a',
      'Leaving Date': '2025-06-30',
      Status: 'Left',
    }

    const mapped = mapRow(mapping, { ...good, ...cells })

    expect(mapped).toMatchObject({ leavingDate: '2025-06-30', statesDeparture: true, isUncertain: false })
    expect(mapped).toHaveProperty('fields', { startedAt: '2020-02-01T00:00:00.000Z' })
    expect(mapped).toHaveProperty('badCells.length', 3)
  })

  test('is uncertain about a departure if its cell is unreadable', () => {
    const { Status: _, ...noStatus } = good
    const { status: __, ...unmapped } = mapping

    expect(mapRow(unmapped, { ...noStatus, 'Leaving Date': '31.06.2025' })).toMatchObject({
      isUncertain: true,
      statesDeparture: false,
    })
    expect(mapRow(mapping, { ...good, 'Leaving Date': '31.06.2025', Status: 'Left' })).toMatchObject({
      statesDeparture: true,
    })
    expect(mapRow(mapping, { ...good, 'Leaving Date': '31.06.2025' })).toMatchObject({
      statesEmployed: true,
      isUncertain: true,
    })
  })

  test.each([
    ['Type', 'isContractor', 'Werkstudent'],
    ['Status', 'status', 'Furlough'],
  ])('names an unlisted value: %s', (column, field, value) => {
    const mapped = mapRow(mapping, { ...good, [column]: ` ${value} ` })

    expect(mapped).toHaveProperty('badCells.0.unlisted', { field, value })
  })

  test('recognises the same fault of the same person in any line, and distinguishes others', () => {
    const faultOf = (cells: Partial<typeof good>) => {
      const mapped = mapRow(mapping, { ...good, ...cells })
      return 'badCells' in mapped ? mapped.badCells?.[0]?.fingerprint : undefined
    }
    const known = faultOf({ Email: 'DISABLED' })

    expect(known).toMatch(/^[\w-]{22}$/)
    expect(faultOf({ Email: 'DISABLED', Title: 'Director', Salary: '2' })).toBe(known)
    expect(faultOf({ Email: 'disabled.' })).not.toBe(known)
    expect(faultOf({ Email: 'DISABLED', 'Worker ID': '1223' })).not.toBe(known)
  })

  test.each(['', '   ', '\u0001', 'x'.repeat(192)])('has no key when its key cannot be used', (key) => {
    const mapped = mapRow(mapping, { ...good, 'Worker ID': key })

    expect(mapped).toMatchObject({ column: 'Worker ID', identityId: null })
  })

  test.each([
    ['as a whole', null, { column: null, identityId: null }],
    ['in its key', 0, { column: 'Worker ID', identityId: null }],
  ])('is rejected if the connector found it damaged %s', (_, column, expected) => {
    const mapped = mapRow(mapping, good, { fault: { column, reason: 'damaged' } })

    expect(mapped).toMatchObject({ reason: 'damaged', line: 41, cellOnly: false, ...expected })
  })

  test.each([
    ['in a mapped cell', 2, { column: 'Title', mayLeave: false }],
    ['in its status', 6, { column: 'Status', mayLeave: true }],
  ])('loses the field that the connector found damaged %s', (_, column, expected) => {
    const mapped = mapRow(mapping, good, { fault: { column, reason: 'damaged' } })

    expect(mapped).toMatchObject({ identityId: '1222', badCells: [{ reason: 'damaged', cellOnly: true, ...expected }] })
  })

  test('loses each field that the connector found damaged, each for its reason', () => {
    const cellFaults = [
      { column: 2, reason: 'the first' },
      { column: 6, reason: 'the second' },
      { column: 7, reason: 'of a column that is not mapped' },
    ]
    const mapped = mapRow(mapping, good, { cellFaults })
    const withoutKey = mapRow(mapping, good, { cellFaults: [...cellFaults, { column: 0, reason: 'the key' }] })

    expect(mapped).toMatchObject({
      identityId: '1222',
      badCells: [
        { column: 'Title', reason: 'the first' },
        { column: 'Status', reason: 'the second', mayLeave: true },
      ],
    })
    expect(withoutKey).toMatchObject({ column: 'Worker ID', reason: 'the key', identityId: null })
  })

  test('is not affected by damage in an unmapped column', () => {
    const mapped = mapRow(mapping, good, { fault: { column: 7, reason: 'damaged' } })

    expect(mapped).toMatchObject({ identityId: '1222', fields: { jobTitle: 'Engineer' } })
  })

  test('never causes an exception, whatever it contains', () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 })
    const cell = units.map((codes) => String.fromCharCode(...codes))
    const anything = fc.dictionary(fc.constantFrom(...Object.keys(good)), cell)
    fc.assert(
      fc.property(anything, (cells) => {
        const mapped = mapRow(mapping, { ...good, ...cells })

        expect(mapped).toHaveProperty('identityId')
      }),
    )
  })
})
