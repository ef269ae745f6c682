import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'
import { isReject } from '../../../src/identity/mapping/rows.ts'
import { mapRow } from '../../helpers/map-row.ts'

describe('a row', () => {
  test('becomes a sighting of the mapped fields and nothing else', () => {
    const fields = {
      identityId: 'Worker ID',
      email: 'Email',
      isContractor: { column: 'Type', map: { Contractor: true, '*': false } },
    }
    const cells = { 'Worker ID': '0042', Salary: '1000000', Email: ' Ana.Li@Example.COM ', Type: 'contractor' }

    const told = mapRow({ fields }, cells)

    expect(told).toEqual({
      identityId: '0042',
      fields: { email: 'ana.li@example.com', isContractor: true },
      leavingDate: null,
      left: false,
      statesEmployment: false,
      origin: { file: 'people.csv', line: 41 },
    })
  })

  test('gives dates as the platform wants them', () => {
    const format = 'dd/MM/yyyy'
    const fields = { identityId: 'id', startedAt: { column: 'start', format }, separatedAt: { column: 'end', format } }

    const told = mapRow({ fields }, { id: '1', start: '29/02/2024', end: '30/06/2025' })

    expect(told).toMatchObject({
      fields: { startedAt: '2024-02-29T00:00:00.000Z' },
      leavingDate: '2025-06-30',
      statesEmployment: true,
    })
  })

  test('that names the first day gone states the day before as the last one', () => {
    const fields = { identityId: 'id', separatedAt: { column: 'end', means: 'firstDayGone' } }

    const told = mapRow({ fields }, { id: '1', end: '2024-03-01' })

    expect(told).toMatchObject({ leavingDate: '2024-02-29' })
  })

  test.each([
    ['a start after the leaving date ends it', '2026-01-01', 'Active', null],
    ['a start after the leaving date leaves it to a status that says left', '2026-01-01', 'Left', '2025-06-30'],
    ['a start on the leaving date leaves it', '2025-06-30', 'Active', '2025-06-30'],
    ['a start before the leaving date leaves it', '2020-01-01', 'Active', '2025-06-30'],
  ])('of somebody who returned: %s', (_, start, status, leavingDate) => {
    const fields = { identityId: 'id', startedAt: 'start', separatedAt: 'end' }

    const told = mapRow(
      { fields, status: { column: 'status', leftWhen: ['left'] } },
      { id: '1', start, end: '2025-06-30', status },
    )

    expect(told).toMatchObject({ leavingDate })
  })

  test.each([
    [' INACTIVE ', true],
    ['Terminated', true],
    ['Active', false],
    ['On leave', false],
    ['', false],
  ])('with the status "%s" says left: %s', (status, left) => {
    const told = mapRow(
      { fields: { identityId: 'id' }, status: { column: 'status', leftWhen: ['Inactive', 'terminated'] } },
      { id: '1', status },
    )

    expect(told).toMatchObject({ left, statesEmployment: true })
  })

  test('composes its text, so that the same name is the same however it was typed', () => {
    const fields = { identityId: 'id', firstName: 'name' }

    const told = mapRow({ fields }, { id: 'jose\u0301', name: '\uFEFF Zoe\u0308\u00A0' })

    expect(told).toMatchObject({ identityId: 'jos\u00e9', fields: { firstName: 'Zo\u00eb' } })
  })

  test('that is shorter than the header says nothing in the cells it lacks', () => {
    const compiled = compileMapping(Mapping.parse({ fields: { identityId: 'id', jobTitle: 'title' } }), ['id', 'title'])

    const told = compiled.ok && compiled.map({ values: ['1'], origin: { file: 'people.csv', line: 2 } })

    expect(told).toMatchObject({ identityId: '1', fields: {} })
    expect(told).not.toHaveProperty('fields.jobTitle')
  })

  test.each([
    ['clear', { fields: { jobTitle: null } }],
    ['keep', { fields: {} }],
    ['reject', { column: 'title', reason: 'the cell is blank' }],
  ])('with a blank cell under "%s"', (onBlank, expected) => {
    const told = mapRow(
      { fields: { identityId: 'id', jobTitle: { column: 'title', onBlank } } },
      { id: '1', title: '  ' },
    )

    expect(told).toMatchObject(expected)
  })

  test.each([
    ['Yes', true],
    ['FALSE', false],
    ['1', true],
    ['0', false],
    ['', null],
  ])('reads "%s" as contractor: %s', (cell, isContractor) => {
    const told = mapRow({ fields: { identityId: 'id', isContractor: 'c' } }, { id: '1', c: cell })

    expect(told).toMatchObject({ fields: { isContractor } })
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

describe('a row that cannot become a record', () => {
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

  test('is told from one that can', () => {
    expect(isReject(mapRow(mapping, good))).toBe(false)
  })

  const secret = 'Rosalind'
  test.each<[string, Partial<typeof good>, string, RegExp]>([
    [
      'an impossible date',
      { 'Hire Date': '31/02/2025' },
      'Hire Date',
      /^"31\/02\/2025" is not a date \(dd\/MM\/yyyy\)$/,
    ],
    [
      'a number among dates',
      { 'Leaving Date': '078-05-1120' },
      'Leaving Date',
      /^what the cell holds is not a date \(yyyy-MM-dd\)$/,
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
  ])('names line, column and reason, and quotes nobody: %s', (_, cells, column, reason) => {
    const told = mapRow(mapping, { ...good, ...cells })

    expect(told).toEqual({ line: 41, column, reason: expect.stringMatching(reason), identityId: '1222' })
    expect(JSON.stringify(told)).not.toContain(secret)
  })

  test.each(['', '   ', '\u0001', 'x'.repeat(192)])('has no key when its key cannot be used', (key) => {
    const told = mapRow(mapping, { ...good, 'Worker ID': key })

    expect(told).toMatchObject({ column: 'Worker ID', identityId: null })
  })

  test.each([
    ['as a whole', null, { column: null, identityId: null }],
    ['in its key', 0, { column: 'Worker ID', identityId: null }],
    ['in a mapped cell', 2, { column: 'Title', identityId: '1222' }],
    ['in its status', 6, { column: 'Status', identityId: '1222' }],
  ])('because the connector found it damaged %s', (_, column, expected) => {
    const told = mapRow(mapping, good, { fault: { column, reason: 'damaged' } })

    expect(told).toMatchObject({ reason: 'damaged', line: 41, ...expected })
  })

  test('is not one that is damaged where nothing is mapped', () => {
    const told = mapRow(mapping, good, { fault: { column: 7, reason: 'damaged' } })

    expect(told).toMatchObject({ identityId: '1222', fields: { jobTitle: 'Engineer' } })
  })

  test('is whatever it holds, never an exception', () => {
    const units = fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 300 })
    const cell = units.map((codes) => String.fromCharCode(...codes))
    const anything = fc.dictionary(fc.constantFrom(...Object.keys(good)), cell)
    fc.assert(
      fc.property(anything, (cells) => {
        const told = mapRow(mapping, { ...good, ...cells })

        expect(told).toHaveProperty('identityId')
      }),
    )
  })
})
