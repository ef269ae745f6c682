import { expect, test } from 'vitest'
import { plain } from '../../../src/cli/render/text.ts'
import type { Control } from '../../../src/cli/session/control-client.ts'
import { findPerson, requirePerson, resolvePersonInSource } from '../../../src/cli/session/person-name.ts'
import type { Session } from '../../../src/cli/session/session.ts'
import { machineCaller } from '../../../src/contract/control/access.ts'
import { peopleOperations } from '../../../src/contract/control/people.ts'
import { peopleHandlers } from '../../../src/daemon/control/people.ts'
import { openDatabase } from '../../../src/database/database.ts'
import { Failure } from '../../../src/errors.ts'
import { localCalls } from '../../../src/http/client/calls.ts'
import type { IdentityRecord } from '../../../src/identity/record.ts'
import { migrations } from '../../../src/store/migrations/index.ts'
import { ensureConnection } from '../../../src/store/runs/runs.ts'
import type { StoreSchema } from '../../../src/store/schema.ts'
import type { SyncContext } from '../../../src/sync/context/context.ts'
import { record } from '../../helpers/records.ts'
import { createPostgresDatabase } from '../../helpers/servers/databases.ts'

const people = {
  acme: [
    record('E1', { firstName: 'Ana', lastName: 'Silva', email: 'ana@acme.example' }),
    record('E10', { firstName: 'Ana Maria', lastName: 'Berg', email: 'am@acme.example' }),
    record('E11', { firstName: 'Anatol', lastName: 'Žižek', email: 'anatol@acme.example' }),
    record('S-7', { firstName: 'Silvana', lastName: 'Kim', separatedAt: '2026-10-31T00:00:00.000Z' }),
  ],
  globex: [record('E10', { firstName: 'Bo', lastName: 'Lund', email: 'bo@globex.example' })],
}

async function openPeople(known: Readonly<Record<string, readonly IdentityRecord[]>> = people) {
  const stack = new AsyncDisposableStack()
  const { at } = stack.use(await createPostgresDatabase())
  const store = stack.use(await openDatabase<StoreSchema>({ at, schemas: ['rollcall'], migrations }))
  for (const [connection, records] of Object.entries(known)) {
    await ensureConnection(store.db, connection)
    const rows = records.map((desired) => ({
      connection,
      identity_id: desired.identityId,
      desired: JSON.stringify(desired),
      inferred: false,
      absences: 0,
      as_of: new Date('2026-11-20'),
    }))
    await store.db.insertInto('roster').values(rows).execute()
  }
  const connections = new Map(Object.keys(known).map((name) => [name, {}]))
  // What finding people needs of the contexts is the store and the names of the connections.
  const sync = { store, connections, now: () => new Date() } as unknown as SyncContext
  const monitored = { connections: [], sources: [], maxLeaverHours: new Map() }
  const caller = machineCaller('ana')
  const context = { sync, monitored, caller, actor: { by: 'ana', principal: 'machine' } }
  const calls = localCalls(peopleOperations, peopleHandlers, context)
  const getPerson = async ({ params }: { params: { connection: string; identityId: string } }) => {
    const match = known[params.connection]?.find(({ identityId }) => identityId === params.identityId)
    if (!match) throw new Failure('not_found', `nobody with the key "${params.identityId}" is known`)
    return params
  }
  const output = { json: false, printMessage: () => undefined, paint: plain }
  const session = {
    config: { connections },
    control: { ...calls, getPerson } as unknown as Control,
    output,
  } as unknown as Session
  return { session, [Symbol.asyncDispose]: () => stack.disposeAsync() }
}

test('a person is found by key, e-mail address or name, and is never guessed', async () => {
  await using opened = await openPeople()
  const { session } = opened
  const named = (text: string, connection?: string) => requirePerson(session, text, { connection })

  expect(await named('E1')).toEqual({ connection: 'acme', identityId: 'E1' })
  expect(await named('ANA@acme.example')).toEqual({ connection: 'acme', identityId: 'E1' })
  expect(await named('ana silva')).toEqual({ connection: 'acme', identityId: 'E1' })
  expect(await named('berg ana')).toEqual({ connection: 'acme', identityId: 'E10' })
  expect(await named('žižek', 'acme')).toEqual({ connection: 'acme', identityId: 'E11' })
  expect(await named('E10', 'globex')).toEqual({ connection: 'globex', identityId: 'E10' })
  expect(await named('N-1', 'acme')).toEqual({ connection: 'acme', identityId: 'N-1' })

  await expect(named('ana')).rejects.toMatchObject({
    code: 'usage',
    message: '"ana" matches 2 people: use the key of one\n  E1  acme  employed\n  E10  acme  employed',
  })
  await expect(named('E10')).rejects.toThrow('several connections have the key E10 (acme, globex): name one with')
  await expect(named('silv', 'acme')).rejects.toThrow(
    'nobody has exactly the name "silv"; 2 people have similar names: use the key of one\n  E1  acme  employed\n  S-7  acme  left',
  )
  await expect(named('anatol@acme')).rejects.toThrow(
    'nobody has exactly the name "anatol@acme"; 1 person has a similar name',
  )
  await expect(named('who@acme.example', 'acme')).rejects.toMatchObject({ code: 'not_found' })
  await expect(named('N-1')).rejects.toThrow('the configuration has several connections')
  await expect(named(' ')).rejects.toMatchObject({ code: 'usage' })
})

test('a name is refused while more people match it than were read', async () => {
  await using opened = await openPeople()
  const named = (text: string, maxMatches: number) =>
    requirePerson(opened.session, text, { connection: 'acme', maxMatches })

  await expect(named('ana', 1)).rejects.toMatchObject({
    code: 'usage',
    message: 'too many people match "ana": use the key of one\n  E1  acme  employed\n  … and others',
  })
  await expect(named('silv', 1)).rejects.toThrow('too many people match "silv"')
  await expect(named('silva', 1)).rejects.toThrow('too many people match "silva"')
  expect(await named('silva', 2)).toEqual({ connection: 'acme', identityId: 'E1' })
})

test('of the source, an address and a key that are not known are asked for as they stand', async () => {
  await using opened = await openPeople()
  const inSource = (text: string) => resolvePersonInSource(opened.session, text, { connection: 'acme' })

  expect(await inSource('new@acme.example')).toEqual({ connection: 'acme', identityId: 'new@acme.example' })
  expect(await inSource('E99')).toEqual({ connection: 'acme', identityId: 'E99' })
  expect(await inSource('Silvana Kim')).toEqual({ connection: 'acme', identityId: 'S-7' })
})

test('a name or an address in plain letters finds the person who has it with marks, and chooses nobody', async () => {
  const spelled = [
    record('U-1', { firstName: 'Ana', lastName: 'Müller', email: 'müller@acme.example' }),
    record('U-2', { firstName: 'José', lastName: 'Paz', email: 'jose@acme.example' }),
  ]
  await using opened = await openPeople({ acme: spelled })
  const named = (text: string) => requirePerson(opened.session, text, {})

  const similar = (text: string, key: string) =>
    `nobody has exactly the name "${text}"; 1 person has a similar name: use the key of one\n  ${key}  acme  employed`
  await expect(named('Ana Muller')).rejects.toThrow(similar('Ana Muller', 'U-1'))
  await expect(named('ana mueller')).rejects.toThrow(similar('ana mueller', 'U-1'))
  await expect(named('muller@acme.example')).rejects.toThrow(similar('muller@acme.example', 'U-1'))
  await expect(named('Jose Paz')).rejects.toThrow(similar('Jose Paz', 'U-2'))
  expect(await named('ANA MÜLLER')).toEqual({ connection: 'acme', identityId: 'U-1' })
  expect(await named('Ana Mu\u0308ller')).toEqual({ connection: 'acme', identityId: 'U-1' })
  expect(await named('müller@acme.example')).toEqual({ connection: 'acme', identityId: 'U-1' })
})

test('a key of the source that is a part of known keys and addresses is asked for as it stands', async () => {
  const similar = [record('14711', { email: 'x4711@acme.example' }), record('E2', { email: 'y4711@acme.example' })]
  await using opened = await openPeople({ acme: [...similar, record('E3', { firstName: 'Ana', lastName: 'Silva' })] })
  const { session } = opened
  const inSource = (text: string) => resolvePersonInSource(session, text, { connection: 'acme' })

  expect(await inSource('4711')).toEqual({ connection: 'acme', identityId: '4711' })
  expect(await findPerson(session, '4711', {})).toBeNull()
  await expect(inSource('ana silv')).rejects.toThrow('1 person has a similar name')
  await expect(requirePerson(session, '4711', {})).rejects.toThrow('2 people have similar names')
})

test('a whole address is found among more people than one page has', async () => {
  const others = Array.from({ length: 1200 }, (_, n) => record(`A${n}`, { email: `x${n}.rossi@acme.example` }))
  const exact = record('Z1', { email: 'rossi@acme.example' })
  await using opened = await openPeople({ acme: [...others, exact] })

  expect(await requirePerson(opened.session, 'rossi@acme.example', {})).toEqual({
    connection: 'acme',
    identityId: 'Z1',
  })
})
