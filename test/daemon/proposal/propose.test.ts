import { readFile } from 'node:fs/promises'
import { describe, expect, test } from 'vitest'
import { readPresets } from '../../../src/daemon/config/presets.ts'
import { type Answers, propose } from '../../../src/daemon/proposal/propose.ts'
import { readTable } from '../../../src/daemon/proposal/table.ts'

const presets = await readPresets()

async function proposed(text: string | Buffer, answers: Answers = {}) {
  const table = await readTable({ name: 'people.csv', bytes: Buffer.from(text), isWhole: true, endsLine: true })
  return propose(table, presets, answers)
}

function fieldsOf({ fields }: Awaited<ReturnType<typeof proposed>>): Record<string, string> {
  return Object.fromEntries(fields.map(({ field, column }) => [field, column]))
}

describe.each([...presets.keys()])('the sample of %s', (name) => {
  test('is known by its columns, and leaves nothing to ask', async () => {
    const proposal = await proposed(await readFile(new URL(`../../../config/samples/${name}.csv`, import.meta.url)))

    expect(proposal.preset).toBe(name)
    expect(proposal.questions).toEqual([])
    expect(proposal.mapping.fields).toEqual({})
    expect(proposal.fields.map(({ field }) => field)).toEqual(
      expect.arrayContaining(['identityId', 'email', 'firstName', 'startedAt', 'separatedAt']),
    )
    expect(proposal.fields.every(({ examples }) => examples.length > 0)).toBe(true)
    expect(proposal.leftBehind.length).toBeGreaterThan(0)
    expect(proposal.why).toMatch(/^\d+ of \d+ of its fields are in the export; the next, [\w-]+, has \d+ of \d+$/)
  })
})

test('a preset that leaves a status out on purpose gets none: it does not tell leavers from people on leave', async () => {
  const proposal = await proposed(
    await readFile(new URL('../../../config/samples/successfactors.csv', import.meta.url)),
  )

  expect(proposal.statuses).toBeNull()
  expect(proposal.leftBehind).toContain('STATUS')
  expect(proposal.timeZone).toEqual({ name: 'Europe/Berlin', column: 'TIMEZONE' })
})

describe('how dates are written', () => {
  const rows = (...dates: string[][]) =>
    [
      'Worker ID,Work Email,First Name,Hire Date,Termination Date',
      ...dates.map((two, at) => `W${at},w${at}@example.com,Ana,${two.join(',')}`),
    ].join('\n')

  test.each([
    ['month first', rows(['01/31/2020', ''], ['02/03/2021', '03/04/2022']), ['MM/dd/yyyy', 'MM/dd/yyyy']],
    ['day first', rows(['31/01/2020', ''], ['03/02/2021', '04/03/2022']), ['dd/MM/yyyy', 'dd/MM/yyyy']],
    ['with short years', rows(['31.01.20', ''], ['03.02.21', '04.03.22']), ['dd.MM.yy', 'dd.MM.yy']],
    ['by names of months', rows(['3-Mar-2020', ''], ['12-Oct-2021', '4-May-2022']), ['d-MMM-yyyy', 'd-MMM-yyyy']],
    [
      'as instants',
      rows(['2020-01-31T00:00:00Z', ''], ['2021-02-03T00:00:00Z', '2022-03-04T00:00:00Z']),
      ["yyyy-MM-dd'T'HH:mm:ssXXX", "yyyy-MM-dd'T'HH:mm:ssXXX"],
    ],
    [
      'differently in two columns',
      rows(['2020-01-31', ''], ['2021-02-03', '25.03.2022']),
      ['yyyy-MM-dd', 'dd.MM.yyyy'],
    ],
  ])('is told by the dates: %s', async (_what, text, formats) => {
    const { dates, questions } = await proposed(`${text}\n`)

    expect(dates.map(({ format }) => format)).toEqual(formats)
    expect(questions).toEqual([])
  })

  test('is told by another column where one leaves two readings', async () => {
    const { dates } = await proposed(`${rows(['31/01/2020', '03/04/2022'])}\n`)

    expect(dates[1]).toMatchObject({
      format: 'dd/MM/yyyy',
      why: 'as in "Hire Date", where the dates leave no other reading',
    })
  })

  test('is asked where no date decides it, and never guessed', async () => {
    const text = `${rows(['02/03/2020', '03/04/2022'], ['05/06/2021', ''])}\n`

    const open = await proposed(text)
    const answered = await proposed(text, { dateFormat: 'dd/MM/yyyy' })

    expect(open.questions).toEqual([
      { about: 'dateFormat', columns: ['Hire Date', 'Termination Date'], choices: ['MM/dd/yyyy', 'dd/MM/yyyy'] },
    ])
    expect(open.mapping.fields).toEqual({})
    expect(answered.questions).toEqual([])
    expect(answered.mapping.fields).toMatchObject({
      startedAt: { format: 'dd/MM/yyyy' },
      separatedAt: { format: 'dd/MM/yyyy' },
    })
  })

  test('which no form fits is said', async () => {
    const { notes } = await proposed(`${rows(['soon', ''], ['later', ''])}\n`)

    expect(notes).toContain(
      'The dates in "Hire Date" are written in no way that is known here: say how (--date-format), or write format into the configuration.',
    )
  })

  test('a single bad date does not hide how the others are written', async () => {
    const good = Array.from({ length: 12 }, (_, at) => [`${20 + (at % 9)}.01.2020`, ''])

    const { dates, notes } = await proposed(`${rows(...good, ['31.02.2020', ''])}\n`)

    expect(dates[0]?.format).toBe('dd.MM.yyyy')
    expect(notes).toContain('One date in "Hire Date" cannot be read so; "rollcall check" says where.')
  })
})

describe('the key', () => {
  test('is asked for where two columns could be it', async () => {
    const proposal = await proposed('Employee ID,Worker ID,Email\n1,a,x@example.com\n2,b,y@example.com\n')

    expect(proposal.questions).toEqual([{ about: 'identityId', choices: ['Employee ID', 'Worker ID'] }])
  })

  test('is never a column that two people share or that is blank for some', async () => {
    const rows = Array.from({ length: 8 }, (_, at) => `${at % 2},${at < 3 ? '' : at},n${at}`)

    const proposal = await proposed(`Employee ID,Badge,Code\n${rows.join('\n')}\n`)

    expect(proposal.questions).toEqual([{ about: 'identityId', choices: ['Employee ID', 'Code'] }])
    expect(proposal.notes).toContain(
      'The column "Employee ID" could be the key, but it is blank for some people or the same for several.',
    )
  })

  test('is the one that a person names', async () => {
    const proposal = await proposed('Employee ID,Worker ID,Email\n1,a,x@example.com\n2,b,y@example.com\n', {
      fields: { identityId: 'Worker ID' },
    })

    expect(proposal.questions).toEqual([])
    expect(fieldsOf(proposal)).toMatchObject({ identityId: 'Worker ID' })
  })
})

test('an export of no known system is read by what others call its columns and by what its cells hold', async () => {
  const proposal = await proposed(
    'Personalnummer,Contact,Vorname,Austrittsdatum\n7,ana@example.com,Ana,\n8,bo@example.com,Bo,31.01.2026\n',
    { preset: 'generic' },
  )

  expect(fieldsOf(proposal)).toEqual({
    identityId: 'Personalnummer',
    email: 'Contact',
    firstName: 'Vorname',
    separatedAt: 'Austrittsdatum',
  })
  expect(proposal.fields.map(({ why }) => why)).toContain('its cells are e-mail addresses')
  expect(proposal.dates).toMatchObject([{ format: 'dd.MM.yyyy' }])
})

test('columns that say no more of one system than of any other are read by the generic preset', async () => {
  const { preset } = await proposed(
    'Employee ID,Work Email,Employment Status\n1,a@example.com,Active\n2,b@example.com,Active\n',
  )

  expect(preset).toBe('generic')
})

test('columns of one name are left out and named', async () => {
  const proposal = await proposed('Worker ID,Work Email,Work Email,First Name\n1,a@example.com,b@example.com,Ana\n')

  expect(fieldsOf(proposal)).toEqual({ identityId: 'Worker ID', firstName: 'First Name' })
  expect(proposal.notes).toContain(
    'The columns 2 and 3 are both called "Work Email", so neither can be read. Rename or drop one in the export.',
  )
})

describe('statuses', () => {
  const text = 'Worker ID,Employment Status\n1,Active\n2,Terminated\n3,Gardening\n4,Gardening\n'

  test('that no list holds are asked for', async () => {
    const proposal = await proposed(text)

    expect(proposal.questions).toEqual([{ about: 'status', column: 'Employment Status', value: 'Gardening', rows: 2 }])
    expect(proposal.mapping.status).toMatchObject({ leftWhen: expect.arrayContaining(['Terminated']) })
    expect(JSON.stringify(proposal.mapping.status)).not.toContain('Gardening')
  })

  test('mean what a person says, also against the preset', async () => {
    const proposal = await proposed(text, { statuses: { Gardening: 'left', Active: 'left' } })

    expect(proposal.questions).toEqual([])
    expect(proposal.mapping.status?.leftWhen).toEqual(expect.arrayContaining(['Gardening', 'Active', 'Terminated']))
    expect(proposal.mapping.status?.employedWhen).not.toContain('Active')
  })

  test('may stay open, and are then asked for no more', async () => {
    const proposal = await proposed(text, { statuses: { Gardening: 'open' } })

    expect(proposal.questions).toEqual([])
    expect(proposal.statuses?.open).toEqual([{ value: 'Gardening', rows: 2 }])
  })
})

test('who is a contractor is asked where the value says nothing', async () => {
  const text = 'Worker ID,Contractor\n1,yes\n2,no\n3,perhaps\n'

  const open = await proposed(text)
  const answered = await proposed(text, { contractors: { perhaps: true } })

  expect(open.questions).toEqual([{ about: 'contractor', column: 'Contractor', value: 'perhaps', rows: 1 }])
  expect(answered.mapping.fields).toMatchObject({ isContractor: { map: { perhaps: true, yes: true, no: false } } })
})

test('where nothing says who has left, that is said', async () => {
  const { notes } = await proposed('Worker ID,Work Email\n1,a@example.com\n')

  expect(notes).toContain(
    'No column says who has left. People leave only by being missing from the export, and the day of the export counts as their last.',
  )
})
