import { describe, expect, test } from 'vitest'
import { compileMapping, Mapping } from '../../../src/identity/mapping/mapping.ts'
import { mapRow } from '../../helpers/map-row.ts'

describe('a row that does not speak of a column', () => {
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

  test('keeps what is known of it', () => {
    const told = mapRow(mapping, { ...silent, ...rest }, { sparse: true })

    expect(told).toMatchObject({
      identityId: '1',
      fields: {},
      leavingDate: undefined,
      statesDeparture: false,
      hasEmploymentCell: false,
    })
    expect(Object.keys('fields' in told ? told.fields : { x: 0 })).toEqual([])
  })

  test.each([[{ state: 'active' }], [{ end: '2025-06-30' }]])(
    'speaks about the employment where it has one of its cells: %j',
    (cells) => {
      const told = mapRow(mapping, { ...silent, ...rest, ...cells }, { sparse: true })

      expect(told).toMatchObject({ hasEmploymentCell: true })
    },
  )

  test('makes no text of a part of a template', () => {
    const told = mapRow(mapping, { ...silent, ...rest, First: 'Ana' }, { sparse: true })

    expect(told).not.toHaveProperty('fields.managerName')
  })

  test.each([
    [undefined, '7', '7'],
    ['', '7', '7'],
    ['', '', null],
    ['', undefined, undefined],
  ])('has the first of %j and %j as %j', (m1, m2, managerId) => {
    const told = mapRow(mapping, { ...silent, ...rest, m1, m2 }, { sparse: true })

    expect('fields' in told && told.fields.managerId).toBe(managerId)
  })

  test.each([
    [{ identityId: 'id' }, { id: undefined }],
    [{ identityId: { firstOf: ['a', 'b'] } }, { a: undefined, b: '2' }],
    [{ identityId: { template: '{a}-{b}' } }, { a: '1', b: undefined }],
  ])('has no key where it does not speak of all of it: %j', (fields, cells) => {
    const told = mapRow({ fields }, cells, { sparse: true })

    expect(told).toMatchObject({ identityId: null, reason: 'the cell is blank' })
  })
})

describe('a source whose rows may lack any column', () => {
  const compile = (fields: Record<string, unknown>, headers: string[], more: object = {}) =>
    compileMapping(Mapping.parse({ fields, ...more }), headers, { sparse: true })

  test('needs the key alone, and forgets no field that no row has', () => {
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
  ])('has its rows rejected where it lacks a part of the key: %j', (fields, cells) => {
    expect(mapRow({ fields }, cells, { sparse: true })).toMatchObject({ identityId: null, reason: 'the cell is blank' })
  })

  test.each([
    ['2026-11-30', '2026-11-30'],
    ['', undefined],
  ])('says by %j what it can where no row has the first of two columns', (end, leavingDate) => {
    const fields = { identityId: 'id', separatedAt: { firstOf: ['terminated', 'end'] } }

    const told = mapRow({ fields }, { id: '1', end }, { sparse: true })

    expect(told).toMatchObject({ leavingDate, hasEmploymentCell: leavingDate !== undefined })
  })

  test('is still refused with columns that read the same', () => {
    expect(compile({ identityId: 'id', email: 'mail' }, ['id', 'Mail', 'MAIL'])).toMatchObject({ ok: false })
  })

  test.each([
    ['action', { action: { column: 'what', change: ['x'] } }],
    ['severalRows', { severalRows: { latest: { column: 'what' } } }],
  ])('rejects rows where no row has the column of %s', (_, more) => {
    const compiled = compile({ identityId: 'id' }, ['id'], more)

    const told = compiled.ok && compiled.map({ values: ['1'], origin: { event: 'evt_1', line: 3 } })

    expect(told).toEqual({
      line: 3,
      event: 'evt_1',
      column: 'what',
      identityId: '1',
      reason: expect.stringMatching(/^the row does not say/),
      cellOnly: false,
      mayLeave: false,
      fingerprint: expect.any(String),
    })
  })
})

describe('a source whose records may lack any member, and that is a blank', () => {
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
  ])('does without a part of a text that no record has: %j of %j', (rule, headers, cells, text) => {
    const compiled = compile({ managerName: rule }, ['id', ...headers])

    expect(compiled.lacking).toEqual([])
    expect(read(compiled, '1', ...cells)).toMatchObject({ fields: { managerName: text } })
  })

  test.each([
    ['the last one had', ['identityId', 'jobTitle'], ['no record has "title" (jobTitle)'], { jobTitle: null }],
    ['is not known of the last one', [], ['no record has "title" (jobTitle)'], { jobTitle: null }],
    ['the last one lacked', ['identityId'], [], {}],
  ])('lacks what no record has and %s', (_which, formerFields, lacking, fields) => {
    const compiled = compile({ jobTitle: 'title' }, ['id'], formerFields)

    expect(compiled.lacking).toEqual(lacking.map((sentence) => expect.stringContaining(sentence)))
    expect(read(compiled, '1')).toEqual(expect.objectContaining({ fields }))
    expect(compiled.columns).toEqual({ identityId: 'id' })
  })

  test.each([
    ['the last one had', ['identityId', 'jobTitle'], { jobTitle: null }],
    ['is not known of the last one', [], {}],
  ])('lacks nothing of what may be missing, though %s', (_which, formerFields, fields) => {
    const compiled = compile({ jobTitle: { column: 'title', optional: true } }, ['id'], formerFields)

    expect(compiled.lacking).toEqual([])
    expect(read(compiled, '1')).toEqual(expect.objectContaining({ fields }))
  })

  test('rejects its rows where no record has the key', () => {
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
  const tell = (changed: Record<string, string | undefined>, fault?: { column: number; reason: string }) =>
    mapRow(mapping, { ...cells, ...changed }, { sparse: true, ...(fault && { fault }) })

  test.each([
    ['HIRE', { action: 'join', statesDeparture: false, hasEmploymentCell: true, leavingDate: undefined }],
    [' rehire ', { action: 'join', statesDeparture: false, hasEmploymentCell: true, leavingDate: undefined }],
    ['Change', { action: 'change', statesDeparture: false, hasEmploymentCell: false, leavingDate: undefined }],
    ['Termination', { action: 'leave', statesDeparture: true, hasEmploymentCell: true, leavingDate: undefined }],
    ['Purge', { action: 'retract', statesDeparture: false, hasEmploymentCell: false, fields: {} }],
  ])('"%s" says so', (event, expected) => {
    expect(tell({ event })).toMatchObject(expected)
  })

  test('about a leaver takes the date that it has', () => {
    const told = tell({ event: 'termination', end: '2025-06-30' })

    expect(told).toMatchObject({ statesDeparture: false, leavingDate: '2025-06-30', isUncertain: true })
  })

  test('about a joiner passes over a leaving date of before', () => {
    const told = tell({ event: 'rehire', start: '2026-01-01', end: '2025-06-30' })

    expect(told).toMatchObject({ action: 'join', statesDeparture: false, leavingDate: null })
  })

  test.each([
    ['one that is listed', ['Payslip'], { payslip: true, change: false, other: false, blank: false }],
    ['every other', ['*'], { payslip: true, change: false, other: true, blank: false }],
  ])('may be about something else: %s is passed over', (_which, ignore, expected) => {
    const ignoring = Mapping.parse({
      fields: { identityId: 'id' },
      action: { column: 'event', change: ['change'], ignore },
    })
    const compiled = compileMapping(ignoring, ['id', 'event'])
    if (!compiled.ok) throw new Error(compiled.missing.join())
    const isIgnored = (event: string) => compiled.isIgnored({ values: ['', event], origin: { event: '1', line: 1 } })

    const found = {
      payslip: isIgnored(' payslip'),
      change: isIgnored('Change'),
      other: isIgnored('other'),
      blank: isIgnored(''),
    }

    expect(found).toEqual(expected)
  })

  test('about a change brings nobody back: a blank leaving date says nothing, and one that is there counts', () => {
    expect(tell({ end: '' })).toMatchObject({ action: 'change', hasEmploymentCell: false, leavingDate: null })
    expect(tell({ end: '2025-06-30' })).toMatchObject({ hasEmploymentCell: true, leavingDate: '2025-06-30' })
  })

  test.each(['Rosalind', '', undefined])('that is not listed is rejected, whatever it means: %j', (event) => {
    const told = tell({ event })

    expect(told).toMatchObject({ column: 'event', identityId: '1' })
    expect(JSON.stringify(told)).not.toContain('Rosalind')
    if (event === 'Rosalind') {
      expect(told).toMatchObject({ reason: expect.stringContaining('Hire, Rehire, Change, Termination, Purge') })
    }
  })

  test('to retract needs nothing but its key', () => {
    const broken = { event: 'Purge', title: '', start: 'nonsense' }

    expect(tell(broken, { column: 1, reason: 'damaged' })).toMatchObject({ identityId: '1', action: 'retract' })
    expect(tell({ ...broken, id: '' })).toMatchObject({ identityId: null })
    expect(tell(broken, { column: 0, reason: 'damaged' })).toMatchObject({ identityId: null, reason: 'damaged' })
    expect(tell(broken, { column: 4, reason: 'damaged' })).toMatchObject({ column: 'event', reason: 'damaged' })
  })

  test('carries the time at which it was true', () => {
    const asOf = '2026-11-20T01:30:00.000Z'

    expect(mapRow(mapping, cells, { asOf })).toMatchObject({ asOf })
  })
})

describe('several rows of a person', () => {
  const rankOf = (cell: string, latest: object = {}) =>
    mapRow({ fields: { identityId: 'id' }, severalRows: { latest: { column: 'n', ...latest } } }, { id: '1', n: cell })

  test('are put in order by whole numbers, whatever their width', () => {
    const ranks = ['9', '10', ' 0011 ', '2', '12345678901234567890123'].map((cell) => rankOf(cell))

    const sorted = ranks.map((told) => ('rank' in told ? (told.rank ?? '') : '')).toSorted()

    expect(sorted.map(BigInt)).toEqual([2n, 9n, 10n, 11n, 12345678901234567890123n])
    expect(rankOf('7')).toEqual(rankOf('007'))
  })

  test.each([
    ['dd.MM.yyyy', '09.11.2025', '10.01.2026'],
    ['MM/dd/yyyy HH:mm', '01/10/2026 09:00', '01/10/2026 10:00'],
    ["yyyy-MM-dd'T'HH:mmXXX", '2026-01-10T10:00+02:00', '2026-01-10T09:00Z'],
  ])('are put in order by moments (%s)', (format, earlier, later) => {
    const [first, second] = [rankOf(earlier, { format }), rankOf(later, { format })]

    expect('rank' in first && 'rank' in second && (first.rank ?? '') < (second.rank ?? '')).toBe(true)
  })

  test.each([
    ['', {}, /blank/],
    ['-1', {}, /no whole number/],
    ['1.5', {}, /no whole number/],
    ['Rosalind', { format: 'yyyy-MM-dd' }, /^what the cell holds is not a date \(yyyy-MM-dd\): have it corrected/],
  ])('cannot be put in order by "%s"', (cell, latest, reason) => {
    expect(rankOf(cell, latest)).toMatchObject({ identityId: '1', column: 'n', reason: expect.stringMatching(reason) })
  })
})
