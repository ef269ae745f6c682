/** A number with its noun: `1 row`, `2 rows`. */
export function pluralize(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

/** A number of people: `1 person`, `2 people`. */
export function pluralizePeople(count: number): string {
  return pluralize(count, 'person', 'people')
}
