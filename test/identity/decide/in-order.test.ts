import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Decision, decide, decideInOrder } from '../../../src/identity/decide/decide.ts'
import { timesSpokenOf } from '../../../src/identity/field-times.ts'
import type { RosterEntry } from '../../../src/identity/record.ts'
import { entry, nightly, record, reject, observation } from '../../helpers/records.ts'

const delta = nightly({ mode: 'delta', asOf: '2026-11-20T12:00:00.000Z' })
const at = (time: string) => `2026-11-20T${time}:00.000Z`

describe('several observations of a person, one after the other', () => {
  test('end where the last one says, and are one change', () => {
    const hired = observation('ana', { asOf: at('10:00') })
    const promoted = observation('ana', { asOf: at('11:00'), fields: { jobTitle: 'Lead' }, hasEmploymentCell: false })
    const left = observation('ana', { asOf: at('12:00'), fields: {}, leavingDate: '2026-11-20' })

    const { change, entry: side } = decideInOrder(undefined, [hired, promoted, left], delta)

    expect(change).toMatchObject({
      kind: 'join',
      record: { jobTitle: 'Lead', separatedAt: '2026-11-20T00:00:00.000Z' },
    })
    expect(side).toMatchObject({ asOf: at('12:00') })
  })

  test('that lead back to where they began change nothing', () => {
    const away = observation('ana', { asOf: at('10:00'), fields: { jobTitle: 'Lead' } })
    const back = observation('ana', { asOf: at('11:00'), fields: { jobTitle: 'Engineer' } })

    const { change } = decideInOrder(entry('ana'), [away, back], delta)

    expect(change).toBeNull()
  })

  test('count as news of a leaver once, whatever came between', () => {
    const left = observation('ana', { asOf: at('10:00'), fields: {}, leavingDate: '2026-11-19' })
    const again = observation('ana', { asOf: at('11:00'), fields: {}, leavingDate: '2026-11-19' })

    const { news, change } = decideInOrder(entry('ana'), [left, again], delta)

    expect(news.kinds).toContain('leavers')
    expect(change).toMatchObject({ kind: 'leave', carried: false })
  })

  test('about a leaver whose record is changed afterwards leave them gone', () => {
    const left = observation('ana', { asOf: at('10:00'), fields: {}, statesDeparture: true, action: 'leave' })
    const tidied = observation('ana', { asOf: at('11:00'), fields: { jobTitle: 'Former' }, hasEmploymentCell: false })

    const together = decideInOrder(entry('ana'), [left, tidied], delta)
    const first = decideInOrder(entry('ana'), [left], delta)
    const second = decideInOrder(entry('ana', { ...first.entry }), [tidied], delta)

    expect(together.change).toMatchObject({ kind: 'leave', inferred: true, record: { jobTitle: 'Former' } })
    expect(second.entry?.desired).toMatchObject({ jobTitle: 'Former', separatedAt: '2026-11-20T00:00:00.000Z' })
  })

  test.each([
    ['ends a departure that was announced before it', {}, null],
    [
      'leaves it, if its own leaving date cannot be read',
      { badCells: [reject('ana', { mayLeave: true })] },
      '2026-12-31',
    ],
    ['puts its own leaving date in the place of it', { leavingDate: '2027-01-31' }, '2027-01-31'],
  ])('that begin with an announced departure: a hire %s', (_, said, deferredTo) => {
    const announced = observation('ana', { asOf: at('10:00'), fields: {}, leavingDate: '2026-12-31', action: 'leave' })
    const hired = observation('ana', {
      asOf: at('11:00'),
      leavingDate: undefined,
      statesEmployed: true,
      action: 'join',
      ...said,
    })

    const together = decideInOrder(entry('ana'), [announced, hired], delta)
    const first = decideInOrder(entry('ana'), [announced], delta)
    const second = decideInOrder(entry('ana', { ...first.entry }), [hired], delta)
    const late = decideInOrder(entry('ana', { ...second.entry }), [announced], delta)

    expect([together, second, late].map((decision) => decision.entry?.deferredTo ?? null)).toEqual([
      deferredTo,
      deferredTo,
      late.entry === null ? null : deferredTo,
    ])
  })

  test('leave out the one that is older than what is known', () => {
    const known = entry('ana', { asOf: at('10:30') })
    const stale = observation('ana', { asOf: at('10:00'), fields: {}, leavingDate: '2026-11-19' })
    const fresh = observation('ana', { asOf: at('11:00'), fields: { jobTitle: 'Lead' }, hasEmploymentCell: false })

    const { change } = decideInOrder(known, [stale, fresh], delta)

    expect(change).toMatchObject({ kind: 'update', record: { jobTitle: 'Lead', separatedAt: null } })
  })
})

describe('a fact of employment that comes in after a newer change of the record', () => {
  const known = entry('ana', {
    desired: record('ana', { jobTitle: 'Lead' }),
    asOf: at('11:00'),
    employmentAsOf: at('09:00'),
  })

  test('separates and leaves the rest as the newer one has it', () => {
    const left = observation('ana', { asOf: at('10:00'), leavingDate: '2026-11-19', action: 'leave' })

    const { change, entry: side, news } = decide(known, left, delta)

    expect(change).toMatchObject({
      kind: 'leave',
      record: { jobTitle: 'Lead', separatedAt: '2026-11-19T00:00:00.000Z' },
      inferred: false,
    })
    expect(side).toMatchObject({ asOf: at('11:00'), employmentAsOf: at('10:00') })
    expect(news.kinds).toContain('leavers')
  })

  test('infers the day on which it was true', () => {
    const yesterday = { asOf: '2026-11-19T23:30:00.000Z', employmentAsOf: null }
    const left = observation('ana', { asOf: '2026-11-19T23:00:00.000Z', fields: {}, statesDeparture: true })

    const { change } = decide({ ...known, ...yesterday }, left, delta)

    expect(change).toMatchObject({ kind: 'leave', inferred: true, record: { separatedAt: '2026-11-19T00:00:00.000Z' } })
  })

  test('is deferred where its day lies ahead', () => {
    const leaves = observation('ana', { asOf: at('10:00'), fields: {}, leavingDate: '2026-11-30' })

    const { change, entry: side } = decide(known, leaves, delta)

    expect(change).toBeNull()
    expect(side).toMatchObject({ deferredTo: '2026-11-30', asOf: at('11:00'), employmentAsOf: at('10:00') })
  })

  test('brings a leaver back', () => {
    const desired = record('ana', { jobTitle: 'Lead', separatedAt: '2026-10-31T00:00:00.000Z' })
    const back = observation('ana', { asOf: at('10:00'), action: 'join' })

    const { change } = decide({ ...known, desired, confirmed: desired }, back, delta)

    expect(change).toMatchObject({ kind: 'return', record: { jobTitle: 'Lead', separatedAt: null } })
  })

  test('counts for nothing where a newer one is known', () => {
    const left = observation('ana', { asOf: at('08:00'), fields: {}, leavingDate: '2026-11-19' })

    expect(decide(known, left, delta)).toMatchObject({ change: null, entry: null })
  })

  test('counts where nobody has spoken of the employment yet', () => {
    const first = decide(undefined, observation('ana', { asOf: at('11:00'), hasEmploymentCell: false }), delta)
    const left = observation('ana', { asOf: at('08:00'), fields: {}, leavingDate: '2026-11-19' })

    const { change } = decide(entry('ana', { ...first.entry }), left, delta)

    expect(first.entry).toMatchObject({ asOf: at('11:00'), employmentAsOf: null })
    expect(change).toMatchObject({ kind: 'leave' })
  })

  test('may be what a snapshot says, or its silence', () => {
    const snapshot = nightly({ asOf: at('10:00') })

    const listed = decide(known, observation('ana', { leavingDate: '2026-11-19' }), snapshot)
    const absent = decide(known, 'absent', snapshot)
    const again = decide({ ...known, ...absent.entry }, 'absent', snapshot)

    expect(listed.change).toMatchObject({ kind: 'leave', record: { jobTitle: 'Lead' }, inferred: false })
    expect(absent).toMatchObject({
      isAbsent: true,
      change: { kind: 'leave', record: { jobTitle: 'Lead' }, inferred: true },
    })
    expect(absent.entry).toMatchObject({ asOf: at('11:00'), employmentAsOf: at('10:00') })
    expect(again).toMatchObject({ isAbsent: false, entry: null })
  })

  test('is not the silence of a snapshot that is older than all that is known', () => {
    const hired = { ...known, employmentAsOf: null }

    const { change, isAbsent } = decide(hired, 'absent', nightly({ asOf: at('10:00') }))

    expect({ change, isAbsent }).toEqual({ change: null, isAbsent: false })
  })

  test('ends in the same as in the order of the times, whatever comes when', () => {
    const anyFields = fc.record(
      {
        jobTitle: fc.constantFrom('Engineer', 'Lead', 'Former', null),
        managerName: fc.constantFrom('Bo', 'Cy'),
        lastName: fc.constantFrom('Diaz', 'Diaz-Ito'),
      },
      { requiredKeys: [] },
    )
    const fact = fc.record({
      fields: anyFields,
      leavingDate: fc.constantFrom(null, '2026-11-18', '2026-11-19', '2026-11-30'),
      hasEmploymentCell: fc.boolean(),
    })
    const facts = fc.array(fact, { minLength: 1, maxLength: 6 }).map((some) =>
      some.map(({ fields, leavingDate, hasEmploymentCell }, hour) =>
        observation('ana', {
          asOf: at(`0${hour}:00`),
          fields,
          leavingDate: hasEmploymentCell ? leavingDate : null,
          hasEmploymentCell: hasEmploymentCell,
        }),
      ),
    )
    const shuffled = facts.chain((inOrder) =>
      fc.record({ inOrder: fc.constant(inOrder), late: fc.shuffledSubarray(inOrder, { minLength: inOrder.length }) }),
    )

    fc.assert(
      fc.property(shuffled, fc.boolean(), ({ inOrder, late }, isKnown) => {
        const before = isKnown ? entry('ana', { asOf: at('00:30') }) : undefined
        const [told, toldLate] = [inOrder, late].map((some) => decideInOrder(before, some, delta).entry?.desired)
        expect(toldLate).toEqual(told)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('a fact about a field that comes in after a newer one about another', () => {
  const promoted = observation('ana', { asOf: at('11:00'), fields: { jobTitle: 'Lead' }, hasEmploymentCell: false })
  const married = observation('ana', { asOf: at('10:00'), fields: { lastName: 'Diaz' }, hasEmploymentCell: false })
  const known = entry('ana', { desired: record('ana', { lastName: 'Doe' }), asOf: at('09:00') })
  const delivered = (before: RosterEntry, { entry: side }: Decision) => ({
    ...before,
    ...side,
    confirmed: side?.desired ?? before.confirmed,
  })
  const after = delivered(known, decide(known, promoted, delta))

  test('counts', () => {
    const { change, entry: side } = decide(after, married, delta)

    expect(change).toMatchObject({ kind: 'update', record: { jobTitle: 'Lead', lastName: 'Diaz' } })
    expect(side).toMatchObject({
      asOf: at('11:00'),
      fieldTimes: { lastName: at('10:00'), email: at('09:00') },
    })
    expect(side?.fieldTimes).not.toHaveProperty('jobTitle')
  })

  test('counts for nothing where a newer one of the same field is known', () => {
    const renamed = delivered(after, decide(after, married, delta))
    const earlier = observation('ana', { asOf: at('09:30'), fields: { lastName: 'Dias' }, hasEmploymentCell: false })

    expect(decide(renamed, earlier, delta)).toMatchObject({ change: null, entry: null })
  })

  test('counts where the field was never spoken of', () => {
    const { desired } = after
    const { lastName: _, ...rest } = desired ?? record('ana')
    const earlier = observation('ana', { asOf: at('08:00'), fields: { lastName: 'Dias' }, hasEmploymentCell: false })

    const { change } = decide({ ...after, desired: rest, confirmed: rest }, earlier, delta)

    expect(change).toMatchObject({ kind: 'update', record: { jobTitle: 'Lead', lastName: 'Dias' } })
  })

  test('counts for nothing where a snapshot has spoken of everyone since', () => {
    const listed = decide(
      after,
      observation('ana', { fields: { jobTitle: 'Lead', lastName: 'Doe' } }),
      nightly({ asOf: at('11:30') }),
    )
    const silent = timesSpokenOf(after, at('10:30'))

    expect(listed.entry).toMatchObject({ asOf: at('11:30'), fieldTimes: null })
    expect(decide(delivered(after, listed), married, delta)).toMatchObject({ change: null, entry: null })
    expect(silent).toMatchObject({ asOf: at('11:00'), fieldTimes: { lastName: at('10:30') } })
    expect(decide({ ...after, ...silent }, married, delta)).toMatchObject({ change: null, entry: null })
  })

  test('is, in a snapshot, every field that no newer event has set', () => {
    const { change, entry: side } = decide(
      after,
      observation('ana', { fields: { jobTitle: 'Engineer', lastName: 'Diaz' } }),
      nightly({ asOf: at('10:00') }),
    )

    expect(change).toMatchObject({ kind: 'update', record: { jobTitle: 'Lead', lastName: 'Diaz' } })
    expect(side).toMatchObject({ asOf: at('11:00'), fieldTimes: { lastName: at('10:00'), email: at('10:00') } })
  })

  test('brings no time of its own along where it tells all that is known', () => {
    const all = observation('ana', { asOf: at('11:30'), fields: { ...observation('ana').fields, lastName: 'Doe' } })

    expect(decide(after, all, delta).entry).toMatchObject({ asOf: at('11:30'), fieldTimes: null })
  })
})

describe('a row that says retract', () => {
  const retract = observation('ana', { action: 'retract', asOf: at('11:00'), origin: { event: '7', line: 1 } })

  test('deletes, with where it was said as the reason, and is news for the guard', () => {
    const { change, news } = decide(entry('ana'), retract, delta)

    expect(change).toEqual({ kind: 'retract', identityId: 'ana', reason: 'event 7 says so', carried: false })
    expect(news.kinds).toEqual(['retractions'])
  })

  test.each([
    ['somebody unknown', undefined],
    ['somebody withheld already', entry('ana', { retracted: { reason: 'test', at: at('09:00') }, confirmed: null })],
    ['somebody of whom newer is known', entry('ana', { asOf: at('11:30') })],
  ])('changes nothing about %s', (_whom, known) => {
    expect(decide(known, retract, delta).change).toBeNull()
  })

  test('is overruled by a later row of the same person', () => {
    const later = observation('ana', { asOf: at('11:30'), fields: { jobTitle: 'Lead' } })

    const { change } = decideInOrder(entry('ana'), [retract, later], delta)

    expect(change).toMatchObject({ kind: 'update', record: { jobTitle: 'Lead' } })
  })
})

describe('a row with a time zone of its own', () => {
  test('is deferred until its day has come there', () => {
    const tomorrow = observation('ana', { leavingDate: '2026-11-21' })
    const ctx = nightly({ now: '2026-11-20T11:00:00.000Z' })

    const inUtc = decide(entry('ana'), tomorrow, ctx)
    const inKiritimati = decide(entry('ana'), { ...tomorrow, timeZone: 'Pacific/Kiritimati' }, ctx)

    expect(inUtc.entry).toMatchObject({ deferredTo: '2026-11-21' })
    expect(inKiritimati.change).toMatchObject({
      kind: 'leave',
      record: record('ana', { separatedAt: '2026-11-21T00:00:00.000Z' }),
    })
  })

  test('dates an inferred leaving by the day there', () => {
    const left = observation('ana', { statesDeparture: true, timeZone: 'Pacific/Pago_Pago' })

    const { change } = decide(entry('ana'), left, nightly())

    expect(change).toMatchObject({ record: { separatedAt: '2026-11-19T00:00:00.000Z' }, inferred: true })
  })
})
