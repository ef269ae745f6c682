import { writeFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { databaseFailure } from '../../src/database/failures.ts'
import { Failure } from '../../src/errors.ts'

function thrown(code: string | undefined, message = 'value "Ana Berg" of a row'): Error {
  return Object.assign(new Error(message), code !== undefined && { code })
}

test.each([
  ['53100', /^the disk of the database is full: free some space on it \(53100\)$/],
  ['ENOSPC', /^the disk of the database is full/],
  ['25006', /^the database takes no writes: name the primary server/],
  ['53200', /^the database has too little memory/],
  ['58030', /^the disk of the database fails/],
  ['XX001', /^the database is damaged: restore it from a backup/],
  ['42501', /^the role of the database may not do what is needed/],
  ['57014', /^the database ended a statement that took too long: leave statement_timeout out of its address/],
  ['57P01', /^the database does not answer: check that it runs and can be reached \(57P01\)$/],
  ['08006', /^the database does not answer/],
  ['ECONNREFUSED', /^the database does not answer/],
  ['53300', /^the database takes no more connections/],
])('a database error with %s is reported with advice and without quoted values', (code, expected) => {
  const failure = databaseFailure(thrown(code))

  expect(failure).toMatchObject({ code: 'database_unreachable', message: expect.stringMatching(expected) })
  expect(failure?.message).not.toContain('Ana')
})

test.each([
  'Connection terminated unexpectedly',
  'timeout exceeded when trying to connect',
  'Client has encountered a connection error and is not queryable',
])('"%s", which has no code, is reported in the same way', (message) => {
  expect(databaseFailure(thrown(undefined, message))?.message).toMatch(/^the database does not answer/)
})

test('a full disk on which a file of this process lies is not taken for that of the database', async () => {
  const unnamed = await writeFile('/dev/full', 'x').catch((error: unknown) => error)
  const named = Object.assign(thrown('EDQUOT'), { syscall: 'open', path: '/data/incoming' })

  expect([unnamed, named].map(databaseFailure)).toMatchObject([
    { code: 'disk_full', message: 'cannot write a file: its disk is full (ENOSPC); free some space on it' },
    { code: 'disk_full', message: 'cannot write /data/incoming: its disk is full (EDQUOT); free some space on it' },
  ])
})

test('a host with several addresses is away if the first one is', () => {
  const failure = databaseFailure(new AggregateError([thrown('ECONNREFUSED'), thrown('ENETUNREACH')]))

  expect(failure?.message).toContain('(ECONNREFUSED)')
})

test.each([
  ['a statement of ours that is wrong', thrown('42703')],
  ['a failure', new Failure('conflict', 'x')],
  ['a bug', new TypeError('x is undefined')],
  ['what is no error', { code: '53100' }],
])('%s is none of these', (_what, error) => {
  expect(databaseFailure(error)).toBeNull()
})
