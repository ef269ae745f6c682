/** An address within the site. What is null, empty or false is left out, so that the shortest address says the same. */
export function address(
  path: string,
  query: Readonly<Record<string, string | number | boolean | null | undefined>> = {},
): string {
  const entries = Object.entries(query).flatMap(([name, value]) => {
    if (value === null || value === undefined || value === '' || value === false) return []
    return [[name, value === true ? '1' : String(value)]]
  })
  const search = new URLSearchParams(entries).toString()
  return search === '' ? path : `${path}?${search}`
}
