import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type Decision, decide, decideInOrder } from '../../../src/identity/decide/decide.ts'
import { timesSpokenOf } from '../../../src/identity/field-times.ts'
import type { RosterEntry } from '../../../src/identity/record.ts'
import { entry, nightly, observation, record, reject } from '../../helpers/records.ts'

const delta = nightly({ mode: 'delta', asOf: '2026-11-20T12:00:00.000Z' })
const at = (time: string) => `2026-11-20T${time}:00.000Z`

describe('several observations of a person, one after the other', () => {
  test('lead to the state of the last one in one change', () => {
    const hired = observation('ana', { asOf: at('10:00') })
    const promoted = observation('ana', { asOf: at('11:00'), fields: { jobTitle: 'Lead' }, hasEmploymentCell: false })
    const departure = observation('ana', { asOf: at('12:00'), fields: {}, leavingDate: '2026-11-20' })

    const { change, entry: side } = decideInOrder(undefined, [hired, promoted, departure], delta)

    expect(change).toMatchObject({
      kind: 'join',
      record: { jobTitle: 'Lead', separatedAt: '2026-11-20T00:00:00.000Z' },
    })
    expect(side).toMatchObject({ asOf: at('12:00') })
  })

  test('that return to the initial state change nothing', () => {
    const away = observation('ana', { asOf: at('10:00'), fields: { jobTitle: 'Lead' } })
    const back = observation('ana', { asOf: at('11:00'), fields: { jobTitle: 'Engineer' } })

    const { change } = decideInOrder(entry('ana'), [away, back], delta)

    expect(change).toBeNull()
  })

  test('count one leaver, whatever came between', () => {
    const departure = observation('ana', { asOf: at('10:00'), fields: {}, leavingDate: '2026-11-19' })
    const again = observation('ana', { asOf: at('11:00'), fields: {}, leavingDate: '2026-11-19' })

    const { news, change } = decideInOrder(entry('ana'), [departure, again], delta)

    expect(news.kinds).toContain('leavers')
    expect(change).toMatchObject({ kind: 'leave', carried: false })
  })

  test('about a leaver whose record changes afterwards do not bring the person back', () => {
    const departure = observation('ana', { asOf: at('10:00'), fields: {}, statesDeparture: true, action: 'leave' })
    const tidied = observation('ana', { asOf: at('11:00'), fields: { jobTitle: 'Former' }, hasEmploymentCell: false })

    const together = decideInOrder(entry('ana'), [departure, tidied], delta)
    const first = decideInOrder(entry('ana'), [departure], delta)
    const second = decideInOrder(entry('ana', { ...first.entry }), [tidied], delta)

    expect(together.change).toMatchObject({ kind: 'leave', inferred: true, record: { jobTitle: 'Former' } })
    expect(second.entry?.desired).toMatchObject({ jobTitle: 'Former', separatedAt: '2026-11-20T00:00:00.000Z' })
  })

  test('from a clock that was ahead make a person leave on the day on which they are read', () => {
    const [promoted, left] = ['2036-01-01T00:00:00.000Z', '2036-01-01T00:00:00.001Z']
    const title = observation('ana', { asOf: promoted, fields: { jobTitle: 'Lead' }, hasEmploymentCell: false })
    const departure = observation('ana', { asOf: left, fields: {}, statesDeparture: true, action: 'leave' })

    const { change, entry: side } = decideInOrder(entry('ana'), [title, departure], delta)

    expect(change).toMatchObject({ kind: 'leave', record: { separatedAt: '2026-11-20T00:00:00.000Z' } })
    expect(side).toMatchObject({ asOf: left })
  })

  test.each([
    ['ends a departure that was announced before it', {}, null],
    [
      'leaves it, if its own leaving date cannot be read',
      { badCells: [reject('ana', { mayLeave: true })] },
      '2026-12-31',
    ],
    ['puts its own leaving date in the place of it', { leavingDate: '2027-01-31' }, '2027-01-31'],
  ])('that begin with an announced departure: a hire %s', (_, overrides, deferredTo) => {
    const announced = observation('ana', { asOf: at('10:00'), fields: {}, leavingDate: '2026-12-31', action: 'leave' })
    const hired = observation('ana', {
      asOf: at('11:00'),
      leavingDate: undefined,
      statesEmployed: true,
      action: 'join',
      ...overrides,
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

  test('skip the one that is older than the known facts', () => {
    const known = entry('ana', { asOf: at('10:30') })
    const stale = observation('ana', { asOf: at('10:00'), fields: {}, leavingDate: '2026-11-19' })
    const fresh = observation('ana', { asOf: at('11:00'), fields: { jobTitle: 'Lead' }, hasEmploymentCell: false })

    const { change } = decideInOrder(known, [stale, fresh], delta)

    expect(change).toMatchObject({ kind: 'update', record: { jobTitle: 'Lead', separatedAt: null } })
  })
})

describe('a fact of employment that arrives after a newer change of the record', () => {
  const known = entry('ana', {
    desired: record('ana', { jobTitle: 'Lead' }),
    asOf: at('11:00'),
    employmentAsOf: at('09:00'),
  })

  test('separates the person and keeps the newer values', () => {
    const departure = observation('ana', { asOf: at('10:00'), leavingDate: '2026-11-19', action: 'leave' })

    const { change, entry: side, news } = decide(known, departure, delta)

    expect(change).toMatchObject({
      kind: 'leave',
      record: { jobTitle: 'Lead', separatedAt: '2026-11-19T00:00:00.000Z' },
      inferred: false,
    })
    expect(side).toMatchObject({ asOf: at('11:00'), employmentAsOf: at('10:00') })
    expect(news.kinds).toContain('leavers')
  })

  test('infers the day of its as-of time', () => {
    const yesterday = { asOf: '2026-11-19T23:30:00.000Z', employmentAsOf: null }
    const departure = observation('ana', { asOf: '2026-11-19T23:00:00.000Z', fields: {}, statesDeparture: true })

    const { change } = decide({ ...known, ...yesterday }, departure, delta)

    expect(change).toMatchObject({ kind: 'leave', inferred: true, record: { separatedAt: '2026-11-19T00:00:00.000Z' } })
  })

  test('is deferred if its day is in the future', () => {
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

  test('has no effect if a newer one is known', () => {
    const departure = observation('ana', { asOf: at('08:00'), fields: {}, leavingDate: '2026-11-19' })

    expect(decide(known, departure, delta)).toMatchObject({ change: null, entry: null })
  })

  test('applies if employment was never stated', () => {
    const first = decide(undefined, observation('ana', { asOf: at('11:00'), hasEmploymentCell: false }), delta)
    const departure = observation('ana', { asOf: at('08:00'), fields: {}, leavingDate: '2026-11-19' })

    const { change } = decide(entry('ana', { ...first.entry }), departure, delta)

    expect(first.entry).toMatchObject({ asOf: at('11:00'), employmentAsOf: null })
    expect(change).toMatchObject({ kind: 'leave' })
  })

  test('may be a row of a snapshot, or an absence', () => {
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

  test('is not the absence from a snapshot that is older than all known facts', () => {
    const hired = { ...known, employmentAsOf: null }

    const { change, isAbsent } = decide(hired, 'absent', nightly({ asOf: at('10:00') }))

    expect({ change, isAbsent }).toEqual({ change: null, isAbsent: false })
  })

  test('gives the same result in any order of arrival', () => {
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
    const facts = fc.array(fact, { minLength: 1, maxLength: 6 }).map((list) =>
      list.map(({ fields, leavingDate, hasEmploymentCell }, hour) =>
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
        const [desired, desiredLate] = [inOrder, late].map(
          (observations) => decideInOrder(before, observations, delta).entry?.desired,
        )
        expect(desiredLate).toEqual(desired)
      }),
      { numRuns: 1000 },
    )
  })
})

describe('a fact about a field that arrives after a newer fact about another field', () => {
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

  test('has no effect if a newer one of the same field is known', () => {
    const renamed = delivered(after, decide(after, married, delta))
    const earlier = observation('ana', { asOf: at('09:30'), fields: { lastName: 'Dias' }, hasEmploymentCell: false })

    expect(decide(renamed, earlier, delta)).toMatchObject({ change: null, entry: null })
  })

  test('applies if the field was never stated', () => {
    const { desired } = after
    const { lastName: _, ...rest } = desired ?? record('ana')
    const earlier = observation('ana', { asOf: at('08:00'), fields: { lastName: 'Dias' }, hasEmploymentCell: false })

    const { change } = decide({ ...after, desired: rest, confirmed: rest }, earlier, delta)

    expect(change).toMatchObject({ kind: 'update', record: { jobTitle: 'Lead', lastName: 'Dias' } })
  })

  test('has no effect after a newer snapshot of everybody', () => {
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

  test('is every field of a snapshot that no newer event has set', () => {
    const { change, entry: side } = decide(
      after,
      observation('ana', { fields: { jobTitle: 'Engineer', lastName: 'Diaz' } }),
      nightly({ asOf: at('10:00') }),
    )

    expect(change).toMatchObject({ kind: 'update', record: { jobTitle: 'Lead', lastName: 'Diaz' } })
    expect(side).toMatchObject({ asOf: at('11:00'), fieldTimes: { lastName: at('10:00'), email: at('10:00') } })
  })

  test('adds no time of its own if it states everything that is known', () => {
    const all = observation('ana', { asOf: at('11:30'), fields: { ...observation('ana').fields, lastName: 'Doe' } })

    expect(decide(after, all, delta).entry).toMatchObject({ asOf: at('11:30'), fieldTimes: null })
  })
})

describe('a row with the action retract', () => {
  const retract = observation('ana', { action: 'retract', asOf: at('11:00'), origin: { event: '7', line: 1 } })

  test('deletes the person, with its origin as the reason, and counts for the guard', () => {
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
  test('is deferred until its day begins there', () => {
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

  test('uses the day there as an inferred leaving date', () => {
    const departure = observation('ana', { statesDeparture: true, timeZone: 'Pacific/Pago_Pago' })

    const { change } = decide(entry('ana'), departure, nightly())

    expect(change).toMatchObject({ record: { separatedAt: '2026-11-19T00:00:00.000Z' }, inferred: true })
  })
})
