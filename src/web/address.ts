/** An address within the site. Parameters that are null, empty or false are left out. */
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
