import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Database, openDatabase } from '../../../src/database/database.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { type PeopleCursor, searchPeople } from '../../../src/store/roster/search.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import type { Db, StoreSchema } from '../../../src/store/schema.ts'
import { record } from '../../helpers/records.ts'
import { databases, type TestDatabase } from '../../helpers/servers/databases.ts'

const people = [
  record('E100', { firstName: 'Ana', lastName: 'Berg', email: 'ana.berg@acme.example' }),
  record('E101', { firstName: 'Anatol', lastName: 'Smith-Jones', email: 'a.smith@acme.example' }),
  record('e102', { firstName: 'ŽELJKO', lastName: 'Ćosić', email: 'Zeljko@acme.example' }),
  record('E103', { firstName: 'Per%cent', lastName: "O'Neil", email: 'per_cent@acme.example' }),
  record('ana-7', {
    firstName: 'Bo',
    lastName: 'Lund',
    email: 'bo@acme.example',
    separatedAt: '2026-10-31T00:00:00.000Z',
  }),
]

describe.each(databases)('the search for people on $name', ({ createDatabase }) => {
  let at: TestDatabase
  let store: Database<StoreSchema>
  let db: Db
  beforeAll(async () => {
    at = await createDatabase()
    store = await openDatabase<StoreSchema>({ at: at.at, schemas: ['rollcall'], migrations })
    db = store.db
    for (const name of ['acme', 'globex']) await ensureConnection(db, name)
    for (const desired of people) await addPerson('acme', desired)
    await addPerson('globex', record('G1', { firstName: 'Ana', lastName: 'Kim', email: 'kim@globex.example' }))
    await sql`insert into key_answers values ('acme', 'E100', 'N-77', true, 'ana', now())`.execute(db)
  })
  afterAll(async () => {
    await store[Symbol.asyncDispose]()
    await at[Symbol.asyncDispose]()
  })

  async function addPerson(connection: string, desired: ReturnType<typeof record>) {
    await db
      .insertInto('roster')
      .values({
        connection,
        identity_id: desired.identityId,
        desired: JSON.stringify(desired),
        inferred: false,
        absences: 0,
        as_of: new Date('2026-11-20'),
      })
      .execute()
  }

  test('looks at the time between connections too', async () => {
    const search = {
      connections: ['acme', 'globex'],
      search: 'zzz',
      values: true,
      labelOf: () => null,
      limit: 50,
      withinMs: -1,
    }

    const first = await searchPeople(db, search)
    const second = first.next && (await searchPeople(db, { ...search, cursor: first.next }))

    expect(first).toEqual({ matches: [], next: { connection: 'globex', step: 0, after: '' } })
    expect(second).toEqual({ matches: [], next: null })
  })

  async function keysOf(
    search: string | undefined,
    {
      connections = ['acme'],
      limit = 50,
      values = true,
    }: { connections?: string[]; limit?: number; values?: boolean } = {},
  ) {
    const keys: string[] = []
    let next: PeopleCursor | null | undefined
    do {
      const page = await searchPeople(db, {
        connections,
        search,
        values,
        labelOf: (connection) => (connection === 'globex' ? '.name' : null),
        cursor: next ?? undefined,
        limit,
        withinMs: 1000,
      })
      keys.push(...page.matches.map(({ identityId }) => identityId))
      next = page.next
    } while (next)
    return keys
  }

  test.each([
    ['a whole key', 'E100', ['E100']],
    ['the beginning of a key, in any case', 'e10', ['e102', 'E100', 'E101', 'E103']],
    ['another key of the same person', 'N-77', ['E100']],
    ['a part of another key, in any case, once', 'n-7', ['E100']],
    ['the beginning of an address', 'ZELJKO@', ['e102']],
    ['a first name, and keys that begin so before it', 'ana', ['ana-7', 'E100', 'E101']],
    ['a last name', 'berg', ['E100']],
    ['first and last name', 'Ana Berg', ['E100']],
    ['last and first name', 'berg, ana', ['E100']],
    ['a part of a double name', 'jones', ['E101']],
    ['a name with an apostrophe', "o'neil", ['E103']],
    ['letters beyond the English ones', 'željko ćo', ['e102']],
    ['signs that mean something to the database', 'per%', ['E103']],
    ['an underscore that is no joker', 'per_c', ['E103']],
    ['the middle of a name', 'erg', ['E100']],
    ['the middle of a key', '-7', ['E100', 'ana-7']],
    ['the middle of an address', 'smith@', ['E101']],
    ['letters without their marks', 'zeljko cosic', ['e102']],
    ['a part of a name that nobody has', 'bergx', []],
    ['a sign alone', "'", []],
  ])('finds people by %s', async (_name, search, keys) => {
    expect(await keysOf(search)).toEqual(keys)
  })

  test.each([
    [
      'Öztürk',
      ['ozturk', 'oeztuerk', 'ÖZTÜRK', 'O\u0308ztu\u0308rk', 'türk', 'tuerk'],
      ['Jörg', 'oztyrk', 'oztuerk x'],
    ],
    ['Oeztuerk', ['öztürk', 'oeztuerk'], ['ozturk']],
    ['Ozturk', ['öztürk', 'ozturk'], ['oeztuerk']],
    ['Groß', ['gross', 'GROSS', 'groß'], ['gros x']],
    ['Sørensen', ['sorensen', 'sørensen', 'soerensen'], ['soerensenx']],
    ['Ågård', ['agard', 'aagaard', 'ÅGÅRD'], ['aagardx']],
    ['שָׁלוֹם', ['שלום'], []],
    ['Ana–Maria', ['maria ana', 'ana-maria'], []],
    ['Łukasz', ['lukasz', 'łuk'], []],
    ['Ægir', ['aegir', 'ÆGIR'], []],
    ['İpek', ['ipek', 'İPEK'], []],
    ['Nguyễn', ['nguyen', 'nguyễn'], []],
    ['李小龙', ['小龙'], ['大龙']],
  ])('folds the letters of %s', async (lastName, findBy, findNot) => {
    await sql`delete from roster where connection = 'globex'`.execute(db)
    await addPerson('globex', record('G1', { firstName: 'Ana', lastName, email: 'kim@globex.example' }))
    const inGlobex = { connections: ['globex'] }

    for (const search of findBy) expect([search, await keysOf(search, inGlobex)]).toEqual([search, ['G1']])
    for (const search of findNot) expect([search, await keysOf(search, inGlobex)]).toEqual([search, []])
  })

  test('finds records by the name that they are shown with', async () => {
    await sql`delete from roster where connection = 'globex'`.execute(db)
    const [shown, other] = [record('R-17', { '.name': 'Ayşe Öztürk' }), record('R-18', { '.place': 'Öztürk' })]
    for (const one of [shown, other]) await addPerson('globex', one)

    expect(await keysOf('ozturk', { connections: ['globex'] })).toEqual(['R-17'])
  })

  test('searches keys alone for those who may not see values', async () => {
    const search = async (text: string) => await keysOf(text, { values: false })

    expect([await search('100'), await search('N-77')]).toEqual([['E100'], ['E100']])
    for (const text of ['berg', 'ana.berg@', 'željko', 'zeljko']) expect([text, await search(text)]).toEqual([text, []])
    expect(await search('ana')).toEqual(['ana-7'])
  })

  test('finds the last of many people whose letters only the rule of folding can compare', async () => {
    await sql`delete from roster where connection = 'globex'`.execute(db)
    await sql`
      insert into roster (connection, identity_id, desired, inferred, absences, as_of)
      select 'globex', 'K' || lpad(n::text, 6, '0'), jsonb_build_object('firstName', 'Zoë', 'lastName', 'Nr' || n), false, 0, now()
      from generate_series(1, 4500) as n`.execute(db)

    expect(await keysOf('zoe nr4500', { connections: ['globex'] })).toEqual(['K004500'])
    expect(await keysOf('zoe nr400', { connections: ['globex'], limit: 3 })).toEqual([
      'K000400',
      ...Array.from({ length: 10 }, (_, digit) => `K00400${digit}`),
    ])
  })

  test('returns each person once, however small the pages are', async () => {
    await sql`delete from roster where connection = 'globex'`.execute(db)
    await addPerson('globex', record('G1', { firstName: 'Ana', lastName: 'Kim', email: 'kim@globex.example' }))
    expect(await keysOf('ana', { connections: ['globex', 'acme'], limit: 1 })).toEqual(['ana-7', 'E100', 'E101', 'G1'])
    expect(await keysOf(undefined, { connections: ['acme'], limit: 2 })).toEqual([
      'E100',
      'E101',
      'E103',
      'ana-7',
      'e102',
    ])
  })

  test('returns its matches so far when its time is over, and where to continue', async () => {
    await sql`delete from roster where connection = 'globex'`.execute(db)
    await sql`
      insert into roster (connection, identity_id, desired, inferred, absences, as_of)
      select 'globex', 'H' || lpad(n::text, 6, '0'), jsonb_build_object('firstName', 'Zoe', 'lastName', 'Nr' || n), false, 0, now()
      from generate_series(1, 45000) as n`.execute(db)
    const request = {
      connections: ['globex'],
      search: 'nr44999',
      values: true,
      labelOf: () => null,
      limit: 5,
      withinMs: 0,
    }

    const pages: string[][] = []
    let next: PeopleCursor | null | undefined
    do {
      const page = await searchPeople(db, { ...request, cursor: next ?? undefined })
      pages.push(page.matches.map(({ identityId }) => identityId))
      next = page.next
    } while (next)

    expect(pages).toEqual([[], [], ['H044999']])
  })
})
