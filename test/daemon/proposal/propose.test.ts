import { readFile } from 'node:fs/promises'
import jsonata from 'jsonata'
import { describe, expect, test } from 'vitest'
import { readPresets } from '../../../src/daemon/config/presets.ts'
import type { Answers } from '../../../src/daemon/proposal/proposal.ts'
import { propose } from '../../../src/daemon/proposal/propose.ts'
import { readTable } from '../../../src/daemon/proposal/table.ts'

const presets = await readPresets()

async function proposed(text: string | Buffer, answers: Answers = {}) {
  const table = await readTable({ name: 'people.csv', bytes: Buffer.from(text), isWhole: true, hasFinalLineEnd: true })
  return propose(table, presets, answers)
}

function fieldsOf({ fields }: Awaited<ReturnType<typeof proposed>>): Record<string, string> {
  return Object.fromEntries(fields.map(({ field, column }) => [field, column]))
}

describe.each([...presets.keys()])('the sample of %s', (name) => {
  test('is recognised by its columns, and raises no question', async () => {
    const proposal = await proposed(await readFile(new URL(`../../../config/samples/${name}.csv`, import.meta.url)))

    expect(proposal.preset).toBe(name)
    expect(proposal.questions).toEqual([])
    expect(proposal.mapping.fields).toEqual({})
    expect(proposal.fields.map(({ field }) => field)).toEqual(
      expect.arrayContaining(['identityId', 'email', 'firstName', 'startedAt', 'separatedAt']),
    )
    expect(proposal.fields.every(({ examples }) => examples.length > 0)).toBe(true)
    expect(proposal.unreadColumns.length).toBeGreaterThan(0)
    expect(proposal.why).toMatch(/^\d+ of \d+ of its fields are in the export; the next best, [\w-]+, has \d+ of \d+$/)
  })
})

test('no status is proposed if the preset leaves it out on purpose, because it does not distinguish leavers from people on leave', async () => {
  const proposal = await proposed(
    await readFile(new URL('../../../config/samples/successfactors.csv', import.meta.url)),
  )

  expect(proposal.statuses).toBeNull()
  expect(proposal.unreadColumns).toContain('STATUS')
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

  test('is derived from another column if one has two readings', async () => {
    const { dates } = await proposed(`${rows(['31/01/2020', '03/04/2022'])}\n`)

    expect(dates[1]).toMatchObject({
      format: 'dd/MM/yyyy',
      why: 'as in "Hire Date", where the dates fit no other format',
    })
  })

  test('is asked if no date decides it, and never guessed', async () => {
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

  test('is asked if a few dates of one column have another format than the next column, because they may be typing errors', async () => {
    const dates = Array.from({ length: 11 }, (_, at) => [
      `01/${13 + at}/2020`,
      `0${1 + (at % 9)}/0${1 + ((at + 3) % 9)}/2026`,
    ])
    const text = `${rows(...dates, ['01/30/2020', '25/12/2025'])}\n`

    const open = await proposed(text)
    const answered = await proposed(text, { dateFormat: 'MM/dd/yyyy' })

    expect(open.questions).toEqual([
      { about: 'dateFormat', columns: ['Termination Date'], choices: ['dd/MM/yyyy', 'MM/dd/yyyy'] },
    ])
    expect(answered.questions).toEqual([])
    expect(answered.mapping.fields?.separatedAt).toMatchObject({ format: 'MM/dd/yyyy' })
  })

  test('that fit no form get a note', async () => {
    const { notes } = await proposed(`${rows(['soon', ''], ['later', ''])}\n`)

    expect(notes).toContain(
      'Rollcall does not recognise the format of the dates in "Hire Date": choose it here, or set format in the configuration.',
    )
  })

  test('a single bad date does not hide how the others are written', async () => {
    const good = Array.from({ length: 12 }, (_, at) => [`${20 + (at % 9)}.01.2020`, ''])

    const { dates, notes } = await proposed(`${rows(...good, ['31.02.2020', ''])}\n`)

    expect(dates[0]?.format).toBe('dd.MM.yyyy')
    expect(notes).toContain('One date in "Hire Date" cannot be read as dd.MM.yyyy; "rollcall check" says where.')
  })
})

describe('the key', () => {
  test('is asked for if two columns could be it', async () => {
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

test('an export of an unknown system is read by usual column names and by its cells', async () => {
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

test('columns that point to no system are read by the generic preset', async () => {
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

  test('may stay open, and are then not asked for again', async () => {
    const proposal = await proposed(text, { statuses: { Gardening: 'open' } })

    expect(proposal.questions).toEqual([])
    expect(proposal.statuses?.open).toEqual([{ value: 'Gardening', rows: 2 }])
  })
})

test('who is a contractor is asked if the value does not tell', async () => {
  const text = 'Worker ID,Contractor\n1,yes\n2,no\n3,perhaps\n'

  const open = await proposed(text)
  const answered = await proposed(text, { contractors: { perhaps: true } })

  expect(open.questions).toEqual([{ about: 'contractor', column: 'Contractor', value: 'perhaps', rows: 1 }])
  expect(answered.mapping.fields).toMatchObject({ isContractor: { map: { perhaps: true, yes: true, no: false } } })
})

describe('a status that means different things in different systems', () => {
  const text = 'Worker ID,Email,Status\n1,a@example.com,Active\n2,b@example.com,Inactive\n3,c@example.com,Inactive\n'

  test.each(['Inactive', 'On hold', 'Suspended', 'Seasonal', 'ruhend', 'inactif', 'Baja', 'nieaktywny'])(
    'is asked for: %s',
    async (value) => {
      const { questions, mapping } = await proposed(text.replaceAll('Inactive', value))

      expect(questions).toEqual([{ about: 'status', column: 'Status', value, rows: 2 }])
      expect(JSON.stringify(mapping.status).toLowerCase()).not.toContain(`"${value.toLowerCase()}"`)
    },
  )

  test('means what a preset says, if the export is certainly of that system', async () => {
    const sample = await readFile(new URL('../../../config/samples/personio.csv', import.meta.url), 'utf8')
    const named = await proposed(text.replace('Worker ID', 'Personnel number'), { preset: 'personio' })
    const guessed = await proposed(text.replace('Worker ID', 'Personnel number'))

    expect((await proposed(sample)).statuses?.left).toMatchObject([{ value: 'Inactive' }])
    expect(named.questions).toEqual([])
    expect(guessed.questions).toMatchObject([{ about: 'status', value: 'Inactive' }])
  })

  test('is asked for although the best preset lists it, if nothing shows that the export is of that system', async () => {
    const { preset, questions, mapping } = await proposed(
      'Personnel Number,Email,First Name,Last Name,Position,Hire Date,Status\n1,a@example.com,A,B,N,2020-01-31,Active\n2,b@example.com,C,D,N,2020-01-31,Inactive\n',
    )

    expect(preset).toBe('personio')
    expect(questions).toEqual([{ about: 'status', column: 'Status', value: 'Inactive', rows: 1 }])
    expect([...(mapping.status?.leftWhen ?? []), ...(mapping.status?.employedWhen ?? [])]).not.toContain('Inactive')
  })

  test('means what a person says, whatever its case', async () => {
    const { questions, mapping } = await proposed(text, { statuses: { inactive: 'left', gone: 'left' } })

    expect(questions).toEqual([])
    expect(mapping.status?.leftWhen).toEqual(expect.arrayContaining(['Inactive', 'gone']))
  })
})

describe('who has left', () => {
  const dated = 'Worker ID,Email,Vanished,Born\n1,a@example.com,,1990-01-01\n2,b@example.com,2026-10-31,1991-02-02\n'
  const stated = 'Worker ID,Email,Situation here\n1,a@example.com,Active\n2,b@example.com,Terminated\n'

  test('is asked for if an unread column could tell', async () => {
    const byDate = await proposed(dated.replace('Born', 'Date of Birth'))
    const byStatus = await proposed(stated)

    expect(byDate.questions).toEqual([{ about: 'leavers', dates: ['Vanished'], statuses: [] }])
    expect(byStatus.questions).toEqual([{ about: 'leavers', dates: [], statuses: ['Situation here'] }])
  })

  test('is asked for if no row has a leaving date, and an unread status could tell', async () => {
    const text = await readFile(new URL('../../fixtures/presets/successfactors-no-exit-dates.csv', import.meta.url))

    const open = await proposed(text)
    const none = await proposed(text, { fields: { status: null } })
    const nobody = await proposed(text.toString().replaceAll('inactive', 'active'))

    expect(open.questions).toEqual([{ about: 'leavers', dates: [], statuses: ['STATUS'] }])
    expect([none.questions, nobody.questions]).toEqual([[], []])
  })

  test.each([
    ['Active', 'TRUE', 'FALSE'],
    ['Is Active', '1', '0'],
    ['Aktiv', 'ja', 'nein'],
    ['Terminated', 'No', 'Yes'],
  ])('is asked for where a flag could say it: %s', async (header, here, gone) => {
    const text = `Worker ID,Email,${header}\n1,a@example.com,${here}\n2,b@example.com,${gone}\n`

    const open = await proposed(text)
    const named = await proposed(text, { fields: { status: header } })
    const statuses = { [here]: 'employed', [gone]: 'left' } as const
    const answered = await proposed(text, { fields: { status: header }, statuses })

    expect(open.questions).toEqual([{ about: 'leavers', dates: [], statuses: [header] }])
    expect(named.questions).toMatchObject([{ about: 'status' }, { about: 'status' }])
    expect(answered).toMatchObject({
      questions: [],
      statuses: { left: [{ value: gone }], employed: [{ value: here }] },
      mapping: { status: { column: header } },
    })
  })

  test('is asked for if no row has a leaving date and a flag has both values', async () => {
    const both = await proposed('Worker ID,Termination Date,Active\n1,,TRUE\n2,,FALSE\n')
    const one = await proposed('Worker ID,Termination Date,Active\n1,,TRUE\n2,,TRUE\n')

    expect(both.questions).toEqual([{ about: 'leavers', dates: [], statuses: ['Active'] }])
    expect(one.questions).toEqual([])
  })

  test.each(['Leave Date', 'Data dimissioni'])(
    'is not taken from a date that may be another one: %s',
    async (header) => {
      const { mapping, notes } = await proposed(`Worker ID,Status,${header}\n1,Active,2026-10-31\n2,Terminated,\n`)

      expect(mapping.fields?.separatedAt).toBeUndefined()
      expect(notes).toContainEqual(expect.stringContaining(`If "${header}" is the last day`))
    },
  )

  test('has a note if a leaving date is read and the statuses beside it are not', async () => {
    const rows = ['1,,Active', '2,2026-10-31,Terminated', '3,,Terminated']

    const { notes } = await proposed(`Worker ID,Termination Date,Situation here\n${rows.join('\n')}\n`)

    expect(notes).toContainEqual(expect.stringContaining('No status is read. If "Situation here" says who has left'))
  })

  test('is read from the status column that a person names, whatever it is called', async () => {
    const { questions, statuses, fields } = await proposed(stated, { fields: { status: 'Situation here' } })

    expect(questions).toEqual([])
    expect(statuses).toMatchObject({ column: 'Situation here', left: [{ value: 'Terminated', rows: 1 }] })
    expect(fields).toContainEqual(expect.objectContaining({ field: 'status', why: 'as you said' }))
  })

  test('is not asked for once a person says that no column shows it', async () => {
    const { questions, notes } = await proposed(dated, { fields: { separatedAt: null } })

    expect(questions).toEqual([])
    expect(notes).toContainEqual(expect.stringContaining('No column shows who has left.'))
  })

  test('has a note if a status is read and the dates beside it are not', async () => {
    const { notes } = await proposed('Worker ID,Status,Vanished\n1,Active,\n2,Terminated,2026-10-31\n')

    expect(notes).toContainEqual(expect.stringContaining('No leaving date is read. If "Vanished" is the last day'))
  })
})

test.each([
  [
    'de',
    'Pers-Nr;Vorname;Nachname;E-Mail;Stelle;Eintrittsdatum;Austrittsdatum;Mitarbeiterstatus',
    'aktiv',
    'ausgetreten',
  ],
  ['fr', "Matricule;Prénom;Nom;Courriel;Poste;Date d'entrée;Date de sortie;Statut", 'actif', 'sorti'],
  ['fr without accents', "Matricule;Prenom;Nom;Courriel;Poste;Date d'entree;Date de sortie;Statut", 'actif', 'sorti'],
  ['es', 'Número de empleado;Nombre;Apellidos;Correo;Puesto;Fecha de ingreso;Fecha de baja;Estado', 'activo', 'cesado'],
  [
    'pt',
    'Matrícula;Primeiro nome;Sobrenome;E-mail;Cargo;Data de admissão;Data de demissão;Situação',
    'ativo',
    'desligado',
  ],
  ['it', 'Matricola;Nome;Cognome;E-mail;Mansione;Data di assunzione;Data di cessazione;Stato', 'attivo', 'cessato'],
  [
    'nl',
    'Personeelsnummer;Voornaam;Achternaam;E-mail;Functie;Datum in dienst;Datum uit dienst;Status',
    'in dienst',
    'uit dienst',
  ],
  [
    'pl',
    'Numer pracownika;Imię;Nazwisko;E-mail;Stanowisko;Data zatrudnienia;Data zwolnienia;Status',
    'zatrudniony',
    'zwolniony',
  ],
  [
    'sv',
    'Anställningsnummer;Förnamn;Efternamn;E-post;Befattning;Anställningsdatum;Slutdatum;Status',
    'anställd',
    'slutat',
  ],
])('the columns and statuses of an export are known in %s', async (_language, header, employed, left) => {
  const rows = [
    `7;Ana;Okoro;ana@example.com;Nurse;2020-01-31;;${employed}`,
    `8;Bo;Berg;bo@example.com;Nurse;2021-02-28;2026-01-31;${left}`,
  ]

  const { fields, questions, statuses } = await proposed(`${[header, ...rows].join('\n')}\n`)

  expect(fields.map(({ column }) => column).join(';')).toBe(
    ['identityId', 'email', 'firstName', 'lastName', 'jobTitle', 'startedAt', 'separatedAt', 'status']
      .map((_field, at) => header.split(';')[[0, 3, 1, 2, 4, 5, 6, 7][at] ?? 0])
      .join(';'),
  )
  expect([statuses?.left.length, statuses?.employed.length, questions]).toEqual([1, 1, []])
})

describe('several rows of a person', () => {
  test('are distinguished by a value that exactly one of them has', async () => {
    const rows = ['1,Nurse,Yes', '1,Trainer,No', '2,Nurse,Yes', '3,Nurse,No', '3,Cook,Yes']

    const { mapping, questions, notes } = await proposed(`Worker ID,Job Title,Primary Position\n${rows.join('\n')}\n`)

    expect(mapping.scope).toBe('`Primary Position` = "Yes"')
    expect(questions).toEqual([])
    expect(notes).toContainEqual(expect.stringContaining('one row of each person has "Yes" in "Primary Position"'))
  })

  test('are not restricted to rows that some people lack', async () => {
    const rows = ['1,Nurse,Yes', '1,Trainer,No', '2,Nurse,No', '3,Nurse,No', '4,Cook,Yes']

    const { mapping, notes } = await proposed(`Worker ID,Job Title,Primary Position\n${rows.join('\n')}\n`)

    expect(mapping.scope).toBeUndefined()
    expect(notes).toContainEqual(expect.stringContaining('1 row lacks one of their own'))
  })

  test('are not distinguished by a day that two of them have', async () => {
    const rows = ['1,Nurse,2024-01-31', '1,Trainer,2024-01-31', '2,Nurse,2024-01-31', '3,Nurse,2024-01-31']

    const { mapping } = await proposed(`Worker ID,Job Title,Effective Date\n${rows.join('\n')}\n`)

    expect(mapping.severalRows).toBeUndefined()
  })

  test('are distinguished by the day from which a row applies', async () => {
    const rows = ['1,Nurse,2024-01-31', '1,Trainer,2026-01-31', '2,Nurse,2024-01-31']

    const { mapping } = await proposed(`Worker ID,Job Title,Effective Date\n${rows.join('\n')}\n`)

    expect(mapping.severalRows).toEqual({ latest: { column: 'Effective Date', format: 'yyyy-MM-dd' } })
  })
})

describe('which row of a person applies', () => {
  test('is not derived from a number or a flag that is not named as the main row, because it could hide the row of a leaver', async () => {
    const numbered = await proposed('Worker ID,Sequence,Status\n1,1,Active\n1,2,Terminated\n2,1,Active\n')
    const flagged = await proposed('Worker ID,Insured,Status\n1,Yes,Active\n1,No,Terminated\n2,Yes,Active\n')

    expect([numbered.mapping.scope, flagged.mapping.scope]).toEqual([undefined, undefined])
  })

  test('is never derived from a No, because rows other than the main one have it', async () => {
    const rows = ['1,No,Nurse', '1,Yes,Cook', '2,No,Nurse', '2,Yes,Cook']

    const { mapping } = await proposed(`Worker ID,Primary Position,Job Title\n${rows.join('\n')}\n`)

    expect(mapping.scope).toBe('`Primary Position` = "Yes"')
  })

  test('is not derived from a main-row column without a word for yes, or with a No alone', async () => {
    const rows = ['1,nein,Nurse', '1,,Cook', '2,nein,Nurse', '2,,Cook']

    const { mapping } = await proposed(`Worker ID,Hauptstelle,Job Title\n${rows.join('\n')}\n`)

    expect(mapping.scope).toBeUndefined()
  })
})

describe('both names in one column', () => {
  test('are not split at a space if the last name comes first, because nothing shows where it ends', async () => {
    const blank = await proposed('Worker ID,Apellidos y nombre\n1,García López Ana\n2,Nowak Jan\n')
    const comma = await proposed('Worker ID,Nazwisko i imię\n1,"Kowalski, Jan"\n2,"Nowak, Anna"\n')

    expect(blank.mapping.fields).toEqual({})
    expect(blank.notes).toContainEqual(expect.stringContaining('"Apellidos y nombre" has the last name first'))
    expect(comma.fields).toContainEqual(expect.objectContaining({ field: 'lastName', examples: ['Kowalski', 'Nowak'] }))
  })

  test.each([
    [
      'Full Name',
      ['Ana Okoro', 'Bo van der Berg', 'Cher'],
      [
        ['Ana', 'Okoro'],
        ['Bo', 'van der Berg'],
        ['Cher', ''],
      ],
    ],
    [
      'Nominativo',
      ['Okoro, Ana', 'van der Berg, Bo'],
      [
        ['Ana', 'Okoro'],
        ['Bo', 'van der Berg'],
      ],
    ],
  ])('are split: %s', async (header, names, expected) => {
    const rows = [...names, ...Array.from({ length: 8 }, () => names[0])].map((name, at) => `${at},"${name}"`)

    const { mapping, notes, fields } = await proposed(`Worker ID,${header}\n${rows.join('\n')}\n`)

    const expressions = [mapping.fields?.firstName, mapping.fields?.lastName].map((rule) =>
      jsonata((rule as { expression: string }).expression),
    )
    const split = names.map((name) => Promise.all(expressions.map((one) => one.evaluate({ [header]: name }))))
    expect(await Promise.all(split)).toEqual(expected)
    expect(fields).toContainEqual(expect.objectContaining({ field: 'firstName', column: header }))
    expect(notes).toContainEqual(expect.stringContaining(`"${header}" is split at`))
  })

  test('are split if the column is called "first name" in another language', async () => {
    const { mapping } = await proposed('Worker ID,Nome\n1,Ana Okoro\n2,Bo Berg\n')

    expect(mapping.fields).toMatchObject({ firstName: { expression: expect.any(String) } })
  })

  test('are not split if a column holds the first name', async () => {
    const { mapping } = await proposed('Worker ID,First Name,Full Name\n1,Ana,Ana Okoro\n2,Bo,Bo Berg\n')

    expect(mapping.fields?.firstName).toBeUndefined()
  })
})

test('managers whose key nobody has are reported with the cause, and corrected if decimals are the cause', async () => {
  const rows = ['1000,,', '1001,1000.0,', '1002,1000.0,']

  const decimals = await proposed(`Employee ID,Manager ID,Email\n${rows.join('\n')}\n`)
  const strangers = await proposed(`Employee ID,Manager ID,Email\n${rows.join('\n').replaceAll('1000.0', 'x7')}\n`)

  expect(decimals.mapping.fields?.managerId).toEqual({ expression: '$replace(`Manager ID`, /\\.0+$/, "")' })
  expect(decimals.notes).toContainEqual(expect.stringContaining('such as 1000.0 for the key 1000'))
  expect(strangers.mapping.fields?.managerId).toBeUndefined()
  expect(strangers.notes).toContainEqual(
    expect.stringContaining('2 of 2 managers in "Manager ID" are the key of nobody'),
  )
})

test('unknown managers are not reported for a part of an export, because they may be in the rest', async () => {
  const text = Buffer.from('Employee ID,Manager ID,Email\n1,7,\n2,7,\n')
  const table = await readTable({ name: 'people.csv', bytes: text, isWhole: false, hasFinalLineEnd: true })

  expect(propose(table, presets).notes.join()).not.toContain('the key of nobody')
})

test('placeholders for a missing date are added to those of the preset', async () => {
  const sample = await readFile(new URL('../../../config/samples/sap-hcm.csv', import.meta.url), 'utf8')

  const { mapping } = await proposed(sample.replace('31.12.9999', '31.12.4712'))

  expect(mapping.fields?.separatedAt).toEqual({ blankWhen: ['31.12.9999', '00.00.0000', '31.12.4712'] })
})

test('placeholders for a missing date are blank, and are counted as cells', async () => {
  const rows = Array.from({ length: 9 }, (_, at) => `${at},2020-01-3${at % 2},${at < 8 ? '0000-00-00' : '2026-10-31'}`)

  const { mapping, notes, dates } = await proposed(`Worker ID,Hire Date,Termination Date\n${rows.join('\n')}\n`)

  expect(mapping.fields?.separatedAt).toMatchObject({ blankWhen: ['0000-00-00'] })
  expect(dates[1]).toMatchObject({ format: 'yyyy-MM-dd' })
  expect(notes).toContain(
    '8 cells in "Termination Date" stand for no date (0000-00-00) and count as blank (blankWhen).',
  )
})

test('a date that cannot be read is counted once for each cell that has it', async () => {
  const rows = Array.from({ length: 40 }, (_, at) => `${at},${at < 3 ? '31.02.2020' : `${13 + (at % 9)}.01.2020`}`)

  const { notes } = await proposed(`Worker ID,Hire Date\n${rows.join('\n')}\n`)

  expect(notes).toContain('3 dates in "Hire Date" cannot be read as dd.MM.yyyy; "rollcall check" says where.')
})

test('a format from a person that reads no date has a note', async () => {
  const { dates, notes } = await proposed('Worker ID,Hire Date\n1,31.01.2020\n', { dateFormat: 'MM/dd/yyyy' })

  expect(dates).toMatchObject([{ format: 'dd.MM.yyyy' }])
  expect(notes).toContain(
    'The dates in "Hire Date" are not written as MM/dd/yyyy: they can be read as dd.MM.yyyy only.',
  )
})

test('the whole export is examined, including its last rows', async () => {
  const rows = Array.from({ length: 730 }, (_, at) => (at < 700 ? `${at},,Active` : `${at},10/31/2026,Terminated`))

  const { table, dates, statuses } = await proposed(`Worker ID,Termination Date,Status\n${rows.join('\n')}\n`)

  expect([table.rows.length, table.isWhole]).toEqual([730, true])
  expect(dates).toMatchObject([{ format: 'MM/dd/yyyy' }])
  expect(statuses?.left).toEqual([{ value: 'Terminated', rows: 30 }])
})

test('a note says that no column states who has left', async () => {
  const { notes } = await proposed('Worker ID,Work Email\n1,a@example.com\n')

  expect(notes).toContain(
    'No column shows who has left. Only people missing from the export are treated as leavers, with the day of the export as their last day.',
  )
})
