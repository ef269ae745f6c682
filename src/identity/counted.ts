/** A number with its noun: `1 row`, `2 rows`. */
export function counted(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`
}

export function countPeople(count: number): string {
  return counted(count, 'person', 'people')
}
