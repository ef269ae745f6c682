/** Loads one expansion for all rows of a page and returns the value of each row. */
type Loader<Row> = () => Promise<(row: Row) => unknown>

type LoadedValues<Loaders> = {
  [Name in keyof Loaders]?: Loaders[Name] extends () => Promise<(row: never) => infer Value> ? Value : never
}

type Presentation<Row, Data, Loaders> = {
  readonly present: (row: Row) => Data
  /** The names of the requested expansions. */
  readonly expand: readonly string[] | undefined
  readonly loaders: Loaders
}

/** Presents the rows of a page with the requested expansions. A loader runs once for the page, and only if it is requested. */
export async function presentRows<Row, Data, Loaders extends Readonly<Record<string, Loader<Row>>>>(
  rows: readonly Row[],
  { present, expand = [], loaders }: Presentation<Row, Data, Loaders>,
): Promise<(Data & LoadedValues<Loaders>)[]> {
  const expansions: [string, (row: Row) => unknown][] = []
  for (const [name, load] of Object.entries(loaders)) {
    if (expand.includes(name)) expansions.push([name, await load()])
  }
  const extrasOf = (row: Row) => Object.fromEntries(expansions.map(([name, read]) => [name, read(row)]))
  return rows.map((row) => ({ ...present(row), ...(extrasOf(row) as LoadedValues<Loaders>) }))
}

/** A loaded expansion that is a list by row id; rows without an entry have an empty one. */
export function listById<Value>(lists: ReadonlyMap<number, Value[]>): (row: { readonly id: number }) => Value[] {
  return ({ id }) => lists.get(id) ?? []
}
