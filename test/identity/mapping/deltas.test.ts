import { describe, expect, test } from 'vitest'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'
import { mapRow } from '../../helpers/map-row.ts'

describe('a row that does not state a column', () => {
  const mapping = {
    fields: {
      identityId: 'id',
      jobTitle: { column: 'title', onBlank: 'clear' },
      email: { column: 'mail', onBlank: 'reject' },
      managerName: { template: '{First} {Last}' },
      managerId: { firstOf: ['m1', 'm2'] },
      separatedAt: { column: 'end', onBlank: 'reject' },
    },
    status: { column: 'state', leftWhen: ['left'], employedWhen: ['active'] },
  }
  const silent = { id: '1', title: undefined, mail: undefined, First: undefined, Last: undefined }
  const rest = { m1: undefined, m2: undefined, end: undefined, state: undefined }

  test('keeps its known value', () => {
    const mapped = mapRow(mapping, { ...silent, ...rest }, { sparse: true })

    expect(mapped).toMatchObject({
      identityId: '1',
      fields: {},
      leavingDate: undefined,
      statesDeparture: false,
      hasEmploymentCell: false,
    })
    expect(Object.keys('fields' in mapped ? mapped.fields : { x: 0 })).toEqual([])
  })

  test.each([[{ state: 'active' }], [{ end: '2025-06-30' }]])(
    'speaks about the employment where it has one of its cells: %j',
    (cells) => {
      const mapped = mapRow(mapping, { ...silent, ...rest, ...cells }, { sparse: true })

      expect(mapped).toMatchObject({ hasEmploymentCell: true })
    },
  )

  test('makes no text from a part of a template', () => {
    const mapped = mapRow(mapping, { ...silent, ...rest, First: 'Ana' }, { sparse: true })

    expect(mapped).not.toHaveProperty('fields.managerName')
  })

  test.each([
    [undefined, '7', '7'],
    ['', '7', '7'],
    ['', '', null],
    ['', undefined, undefined],
  ])('has the first of %j and %j as %j', (m1, m2, managerId) => {
    const mapped = mapRow(mapping, { ...silent, ...rest, m1, m2 }, { sparse: true })

    expect('fields' in mapped && mapped.fields.managerId).toBe(managerId)
  })

  test.each([
    [{ identityId: 'id' }, { id: undefined }],
    [{ identityId: { firstOf: ['a', 'b'] } }, { a: undefined, b: '2' }],
    [{ identityId: { template: '{a}-{b}' } }, { a: '1', b: undefined }],
  ])('has no key if it does not state all of it: %j', (fields, cells) => {
    const mapped = mapRow({ fields }, cells, { sparse: true })

    expect(mapped).toMatchObject({ identityId: null, reason: 'the cell is blank' })
  })
})

describe('a source whose rows may lack any column', () => {
  const compile = (fields: Record<string, unknown>, headers: string[], more: object = {}) =>
    compileMapping(Mapping.parse({ fields, ...more }), headers, { sparse: true })

  test('needs only the key, and keeps fields that no row has', () => {
    const fields = { identityId: 'id', email: 'mail', managerName: { template: '{First} {Last}' } }

    const compiled = compile(fields, ['id', 'First'])

    expect(compiled).toMatchObject({
      ok: true,
      columns: { identityId: 'id' },
      mapped: new Set(['email', 'managerName']),
    })
  })

  test.each([
    [{ identityId: 'id' }, { b: '2' }],
    [{ identityId: { firstOf: ['a', 'b'] } }, { b: '2' }],
    [{ identityId: { template: '{a}-{b}' } }, { b: '2' }],
  ])('has its rows rejected if it lacks a part of the key: %j', (fields, cells) => {
    expect(mapRow({ fields }, cells, { sparse: true })).toMatchObject({ identityId: null, reason: 'the cell is blank' })
  })

  test.each([
    ['2026-11-30', '2026-11-30'],
    ['', undefined],
  ])('still states %j if no row has the first of two columns', (end, leavingDate) => {
    const fields = { identityId: 'id', separatedAt: { firstOf: ['terminated', 'end'] } }

    const mapped = mapRow({ fields }, { id: '1', end }, { sparse: true })

    expect(mapped).toMatchObject({ leavingDate, hasEmploymentCell: leavingDate !== undefined })
  })

  test('is still refused with columns that read the same', () => {
    expect(compile({ identityId: 'id', email: 'mail' }, ['id', 'Mail', 'MAIL'])).toMatchObject({ ok: false })
  })

  test.each([
    ['action', { action: { column: 'what', change: ['x'] } }],
    ['severalRows', { severalRows: { latest: { column: 'what' } } }],
  ])('rejects rows if no row has the column of %s', (_, more) => {
    const compiled = compile({ identityId: 'id' }, ['id'], more)

    const mapped = compiled.ok && compiled.map({ values: ['1'], origin: { event: 'evt_1', line: 3 } })

    expect(mapped).toEqual({
      line: 3,
      event: 'evt_1',
      column: 'what',
      identityId: '1',
      reason: expect.stringMatching(/^the row does not say/),
      cause: expect.any(String),
      cellOnly: false,
      mayLeave: false,
      fingerprint: expect.any(String),
    })
  })
})

describe('a source in which missing members are blanks', () => {
  const compile = (fields: Record<string, unknown>, headers: string[], formerFields: string[] = []) => {
    const compiled = compileMapping(Mapping.parse({ fields: { identityId: 'id', ...fields } }), headers, {
      sparse: true,
      missingIsBlank: { formerFields },
    })
    if (!compiled.ok) throw new Error(compiled.missing.join())
    return compiled
  }
  const read = (compiled: ReturnType<typeof compile>, ...values: string[]) =>
    compiled.map({ values, origin: { file: 'people page 1', line: 1 } })

  test.each([
    [{ template: '{First} {Middle} {Last}' }, ['First', 'Last'], ['Ana', 'Li'], 'Ana Li'],
    [{ template: '{First} {Last}' }, ['Last'], ['Li'], 'Li'],
    [{ firstOf: ['a', 'b'] }, ['b'], ['B'], 'B'],
    [{ firstOf: ['a', 'b'], blankWhen: ['-'] }, ['b'], ['-'], null],
  ])('ignores a part of a text that no record has: %j of %j', (rule, headers, cells, text) => {
    const compiled = compile({ managerName: rule }, ['id', ...headers])

    expect(compiled.lacking).toEqual([])
    expect(read(compiled, '1', ...cells)).toMatchObject({ fields: { managerName: text } })
  })

  test.each([
    ['the last one had', ['identityId', 'jobTitle'], ['no record has "title" (jobTitle)'], { jobTitle: null }],
    ['is not known of the last one', [], ['no record has "title" (jobTitle)'], { jobTitle: null }],
    ['the last one lacked', ['identityId'], [], {}],
  ])('reports a missing member that %s', (_which, formerFields, lacking, fields) => {
    const compiled = compile({ jobTitle: 'title' }, ['id'], formerFields)

    expect(compiled.lacking).toEqual(lacking.map((sentence) => expect.stringContaining(sentence)))
    expect(read(compiled, '1')).toEqual(expect.objectContaining({ fields }))
    expect(compiled.columns).toEqual({ identityId: 'id' })
  })

  test.each([
    ['the last one had', ['identityId', 'jobTitle'], { jobTitle: null }],
    ['is not known of the last one', [], {}],
  ])('does not report an optional member, though %s', (_which, formerFields, fields) => {
    const compiled = compile({ jobTitle: { column: 'title', optional: true } }, ['id'], formerFields)

    expect(compiled.lacking).toEqual([])
    expect(read(compiled, '1')).toEqual(expect.objectContaining({ fields }))
  })

  test('rejects its rows if no record has the key', () => {
    const compiled = compile({}, ['name'])

    expect(compiled.lacking).toEqual([expect.stringContaining('no record has "id" (identityId)')])
    expect(read(compiled, 'Ana')).toMatchObject({ identityId: null, reason: 'the cell is blank' })
  })
})

describe('a row with an action', () => {
  const mapping = {
    fields: {
      identityId: 'id',
      jobTitle: { column: 'title', onBlank: 'reject' },
      startedAt: 'start',
      separatedAt: 'end',
    },
    action: {
      column: 'event',
      join: ['Hire', 'Rehire'],
      change: ['Change'],
      leave: ['Termination'],
      retract: ['Purge'],
    },
  }
  const cells = { id: '1', title: 'Engineer', start: '2020-01-01', end: undefined, event: 'change' }
  const mapChange = (changed: Record<string, string | undefined>, fault?: { column: number; reason: string }) =>
    mapRow(mapping, { ...cells, ...changed }, { sparse: true, ...(fault && { fault }) })

  test.each([
    ['HIRE', { action: 'join', statesDeparture: false, hasEmploymentCell: true, leavingDate: undefined }],
    [' rehire ', { action: 'join', statesDeparture: false, hasEmploymentCell: true, leavingDate: undefined }],
    ['Change', { action: 'change', statesDeparture: false, hasEmploymentCell: false, leavingDate: undefined }],
    ['Termination', { action: 'leave', statesDeparture: true, hasEmploymentCell: true, leavingDate: undefined }],
    ['Purge', { action: 'retract', statesDeparture: false, hasEmploymentCell: false, fields: {} }],
  ])('"%s" says so', (event, expected) => {
    expect(mapChange({ event })).toMatchObject(expected)
  })

  test('about a leaver uses its date', () => {
    const mapped = mapChange({ event: 'termination', end: '2025-06-30' })

    expect(mapped).toMatchObject({ statesDeparture: false, leavingDate: '2025-06-30', isUncertain: true })
  })

  test('about a joiner ignores an earlier leaving date', () => {
    const mapped = mapChange({ event: 'rehire', start: '2026-01-01', end: '2025-06-30' })

    expect(mapped).toMatchObject({ action: 'join', statesDeparture: false, leavingDate: null })
  })

  test.each([
    ['one that is listed', ['Payslip'], { payslip: true, change: false, other: false, blank: false }],
    ['every other', ['*'], { payslip: true, change: false, other: true, blank: false }],
  ])('may be about something else: %s is skipped', (_which, ignore, expected) => {
    const ignoring = Mapping.parse({
      fields: { identityId: 'id' },
      action: { column: 'event', change: ['change'], ignore },
    })
    const compiled = compileMapping(ignoring, ['id', 'event'])
    if (!compiled.ok) throw new Error(compiled.missing.join())
    const isIgnored = (event: string) => compiled.isIgnored({ values: ['', event], origin: { event: '1', line: 1 } })

    const ignored = {
      payslip: isIgnored(' payslip'),
      change: isIgnored('Change'),
      other: isIgnored('other'),
      blank: isIgnored(''),
    }

    expect(ignored).toEqual(expected)
  })

  test('is not skipped if a cell of its action cannot be read', () => {
    const ignoring = Mapping.parse({
      fields: { identityId: 'id' },
      action: { firstOf: ['event', 'former event'], change: ['change'], ignore: ['*'] },
    })
    const compiled = compileMapping(ignoring, ['id', 'event', 'former event'])
    if (!compiled.ok) throw new Error(compiled.missing.join())
    const row = { values: ['1', '', 'payslip'], origin: { file: 'people.xlsx', line: 2 } }
    const cellFaults = [{ column: 1, reason: 'the cell holds the error #N/A' }]

    expect(compiled.isIgnored(row)).toBe(true)
    expect(compiled.isIgnored({ ...row, cellFaults })).toBe(false)
  })

  test('about a change brings nobody back: a blank leaving date states nothing, and a filled one applies', () => {
    expect(mapChange({ end: '' })).toMatchObject({ action: 'change', hasEmploymentCell: false, leavingDate: null })
    expect(mapChange({ end: '2025-06-30' })).toMatchObject({ hasEmploymentCell: true, leavingDate: '2025-06-30' })
  })

  test.each(['Rosalind', '', undefined])('that is not listed is rejected, whatever it means: %j', (event) => {
    const mapped = mapChange({ event })

    expect(mapped).toMatchObject({ column: 'event', identityId: '1' })
    expect(JSON.stringify({ ...mapped, cell: null })).not.toContain('Rosalind')
    if (event === 'Rosalind') {
      expect(mapped).toMatchObject({ reason: expect.stringContaining('Hire, Rehire, Change, Termination, Purge') })
    }
  })

  test('to retract needs only its key', () => {
    const broken = { event: 'Purge', title: '', start: 'nonsense' }

    expect(mapChange(broken, { column: 1, reason: 'damaged' })).toMatchObject({ identityId: '1', action: 'retract' })
    expect(mapChange({ ...broken, id: '' })).toMatchObject({ identityId: null })
    expect(mapChange(broken, { column: 0, reason: 'damaged' })).toMatchObject({ identityId: null, reason: 'damaged' })
    expect(mapChange(broken, { column: 4, reason: 'damaged' })).toMatchObject({ column: 'event', reason: 'damaged' })
  })

  test('carries its as-of time', () => {
    const asOf = '2026-11-20T01:30:00.000Z'

    expect(mapRow(mapping, cells, { asOf })).toMatchObject({ asOf })
  })
})

describe('several rows of a person', () => {
  const rankOf = (cell: string, latest: object = {}) =>
    mapRow({ fields: { identityId: 'id' }, severalRows: { latest: { column: 'n', ...latest } } }, { id: '1', n: cell })

  test('are ordered by whole numbers of any width', () => {
    const ranks = ['9', '10', ' 0011 ', '2', '12345678901234567890123'].map((cell) => rankOf(cell))

    const sorted = ranks.map((mapped) => ('rank' in mapped ? (mapped.rank ?? '') : '')).toSorted()

    expect(sorted.map(BigInt)).toEqual([2n, 9n, 10n, 11n, 12345678901234567890123n])
    expect(rankOf('7')).toEqual(rankOf('007'))
  })

  test.each([
    ['dd.MM.yyyy', '09.11.2025', '10.01.2026'],
    ['MM/dd/yyyy HH:mm', '01/10/2026 09:00', '01/10/2026 10:00'],
    ["yyyy-MM-dd'T'HH:mmXXX", '2026-01-10T10:00+02:00', '2026-01-10T09:00Z'],
  ])('are ordered by moments (%s)', (format, earlier, later) => {
    const [first, second] = [rankOf(earlier, { format }), rankOf(later, { format })]

    expect('rank' in first && 'rank' in second && (first.rank ?? '') < (second.rank ?? '')).toBe(true)
  })

  test.each([
    ['', {}, /blank/],
    ['-1', {}, /no whole number/],
    ['1.5', {}, /no whole number/],
    ['Rosalind', { format: 'yyyy-MM-dd' }, /^what the cell holds is not a date \(yyyy-MM-dd\): have it corrected/],
  ])('cannot be ordered by "%s"', (cell, latest, reason) => {
    expect(rankOf(cell, latest)).toMatchObject({ identityId: '1', column: 'n', reason: expect.stringMatching(reason) })
  })
})
