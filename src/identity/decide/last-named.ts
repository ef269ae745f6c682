/** How many of the last named people are remembered, to find some who stay employed. */
const sought = 1000

/** Remembers the last people that a source names, by their keys, or by numbers that `keyOf` turns into keys. */
export function rememberLast(keyOf: (person: number) => string) {
  let people: (string | number)[] = []
  return {
    add(person: string | number): void {
      people.push(person)
      if (people.length >= 2 * sought) people = people.slice(-sought)
    },
    keys: (): readonly string[] => people.map((person) => (typeof person === 'number' ? keyOf(person) : person)),
  }
}
