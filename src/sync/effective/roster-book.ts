import type { ShownPerson } from '../../identity/effective/cause.ts'
import { leadingFirst } from '../../identity/effective/expected.ts'
import { type DeliveredPerson, deliveredPeople } from '../../store/effective/people.ts'
import type { Db } from '../../store/schema.ts'
import type { Endpoint } from '../target/endpoint.ts'

/** A connection of Rollcall, and where it delivers. */
export type ComparedConnection = { readonly name: string; readonly endpoint: Endpoint }

/** A delivered person of a connection. */
export type ExpectedPerson = DeliveredPerson & { readonly connection: ComparedConnection }

/** Everybody whom HR states, by e-mail. Each person is taken out once the platform has shown them. */
export type RosterBook = {
  readonly byEmail: Map<string, ExpectedPerson[]>
  readonly withoutEmail: ExpectedPerson[]
  /** The number of people of each connection without changes to send: those who are compared. */
  readonly people: ReadonlyMap<string, number>
}

/** Reads the delivered people of these connections: keys, e-mails, dates and kind. */
export async function readRosterBook(
  db: Db,
  { connections, pageSize }: { readonly connections: readonly ComparedConnection[]; readonly pageSize?: number },
): Promise<RosterBook> {
  const byEmail = new Map<string, ExpectedPerson[]>()
  const withoutEmail: ExpectedPerson[] = []
  const people = new Map<string, number>()
  for (const connection of connections) {
    let count = 0
    for await (const page of deliveredPeople(db, connection.name, pageSize)) {
      count += page.filter(({ isPending }) => !isPending).length
      for (const person of page) {
        const expected = { ...person, connection }
        if (person.email === null) withoutEmail.push(expected)
        else byEmail.getOrInsertComputed(person.email.toLowerCase(), () => []).push(expected)
      }
    }
    people.set(connection.name, count)
  }
  return { byEmail, withoutEmail, people }
}

/**
 * Takes the people with the e-mail of a shown person out of the book, the one whose record decides first: that of the connection which the
 * platform names, then in the platform's order of records.
 */
export function takeOut(book: RosterBook, shown: ShownPerson, now: Date): readonly ExpectedPerson[] {
  const email = shown.email.toLowerCase()
  const people = book.byEmail.get(email) ?? []
  book.byEmail.delete(email)
  return people.length < 2 ? people : people.toSorted(decidingFirst(shown, now))
}

/** The order in which records decide about a shown person. */
export function decidingFirst(shown: ShownPerson, now: Date) {
  const connectionRank = ({ connection }: ExpectedPerson) =>
    connection.endpoint.connectionId === shown.hrisConnectionId ? 0 : 1
  const byRecord = leadingFirst(now)
  return (a: ExpectedPerson, b: ExpectedPerson): number => connectionRank(a) - connectionRank(b) || byRecord(a, b)
}

/** The people whom the platform has not shown so far, without those with changes to send. */
export function remaining({ byEmail, withoutEmail }: RosterBook): readonly ExpectedPerson[] {
  return [...[...byEmail.values()].flat(), ...withoutEmail].filter(({ isPending }) => !isPending)
}
