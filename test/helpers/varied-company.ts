import type { HrPerson } from './world.ts'

/** A company on two nights, and the keys that HR replaces in between. */
export type VariedCompany = {
  readonly first: readonly HrPerson[]
  readonly second: readonly HrPerson[]
  readonly keyChanges: readonly { readonly former: string; readonly identityId: string }[]
}

type Kind = (
  person: HrPerson & { readonly email: string },
  index: number,
) => {
  readonly first: readonly HrPerson[]
  /** On the second night; left out: as on the first. */
  readonly second?: readonly HrPerson[]
  readonly keyChange?: string
}

const names = ['Jörg Müller', 'JÖRG MÜLLER', 'Zoë', 'Łukasz', 'Ìfẹ́', 'İpek', 'ΣΊΣΥΦΟΣ', "O'Neil", '王伟', 'Anne-Sophie']
const nameAt = (index: number): string => names[Math.floor(index / kinds.length) % names.length] ?? ''
const yearOf = (index: number): number => 2005 + (index % 18)

/** What people of a healthy company are like, each kind as frequent as the others. */
const kinds: readonly Kind[] = [
  (person) => ({ first: [person] }),
  (person, index) => ({ first: [{ ...person, start: `2027-0${1 + (index % 9)}-01` }] }),
  (person, index) => ({ first: [{ ...person, start: '2001-02-05', leavingDate: `${yearOf(index)}-06-30` }] }),
  (person) => ({ first: [person], second: [{ ...person, leavingDate: '2025-11-20' }] }),
  (person) => ({ first: [{ ...person, title: 'Contractor' }] }),
  (person) => ({ first: [{ ...person, title: 'Contractor', leavingDate: '2024-02-29' }] }),
  (person) => ({ first: [person], second: [{ ...person, title: 'Contractor' }] }),
  // Left, and returned under the same key.
  (person) => ({
    first: [{ ...person, start: '2015-03-02', leavingDate: '2019-03-01' }],
    second: [{ ...person, start: '2024-09-02' }],
  }),
  // Returned under another key, of which HR keeps both rows.
  (person) => ({
    first: [
      { ...person, id: `${person.id}-A`, start: '2012-01-09', leavingDate: '2018-12-31' },
      { ...person, start: '2022-05-02' },
    ],
  }),
  // A key that HR replaced.
  (person) => ({ first: [person], second: [{ ...person, id: `N${person.id}` }], keyChange: `N${person.id}` }),
  (person) => ({ first: [{ ...person, email: person.email.toUpperCase() }] }),
  (person) => ({ first: [person], second: [{ ...person, email: person.email.replace('p', 'P') }] }),
  (person, index) => ({ first: [{ ...person, first: nameAt(index) }] }),
  (person, index) => ({ first: [{ ...person, first: `  ${nameAt(index).normalize('NFD')} ` }] }),
  (person) => ({ first: [person], second: [{ ...person, first: 'Married' }] }),
  (person) => ({ first: [{ ...person, title: 'Board', email: person.email.replace('@', '@board.') }] }),
  // Two jobs: two rows with one key, or two keys with one address.
  (person) => ({ first: [person, { ...person, title: 'Trainer' }] }),
  (person) => ({ first: [person, { ...person, id: `${person.id}-2`, title: 'Trainer', start: '2022-01-10' }] }),
  (person) => ({ first: [{ ...person, leavingDate: '2027-01-31' }] }),
  (person) => ({ first: [{ ...person, email: person.email.replace('@', ".o'neil+hr@") }] }),
  (person) => ({ first: [{ ...person, first: 'Namesake' }] }),
  (person) => ({ first: [{ ...person, first: '' }] }),
  // An address that was given on after its first owner had left.
  (person) => ({
    first: [
      { ...person, id: `${person.id}-0`, first: 'Predecessor', start: '2008-01-07', leavingDate: '2017-05-31' },
      { ...person, start: '2021-04-01' },
    ],
  }),
]

/** A company of `size` people about whom HR and the platform agree, on two nights. */
export function variedCompany(size: number): VariedCompany {
  const all = Array.from({ length: size }, (_, index) => {
    const id = `V${String(index + 1).padStart(5, '0')}`
    const start = Temporal.PlainDate.from('2020-01-06')
      .add({ days: index % 1500 })
      .toString()
    const email = `p${index + 1}@acme.example`
    const person = { id, email, first: `Person ${index + 1}`, title: 'Engineer', start, status: 'Active' }
    const { first, second = first, keyChange } = (kinds[index % kinds.length] ?? noKind)(person, index)
    return { first, second, keyChanges: keyChange === undefined ? [] : [{ former: id, identityId: keyChange }] }
  })
  return {
    first: all.flatMap((each) => each.first),
    second: all.flatMap((each) => each.second),
    keyChanges: all.flatMap((each) => each.keyChanges),
  }
}

function noKind(): never {
  throw new Error('no kind of person')
}
