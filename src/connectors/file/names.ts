const collator = new Intl.Collator('en', { numeric: true })

/** Orders names by the numbers in them: `delta-9.csv` before `delta-10.csv`. Names that differ are never equal. */
export function compareNames(one: string, other: string): number {
  return collator.compare(one, other) || (one < other ? -1 : Number(one > other))
}

const kinds = ['.csv', '.xlsx', '.json']
const exportEnding = /(?:\.csv|\.xlsx|\.json)(?:\.gz|\.zip|\.pgp|\.gpg)?$/i

/**
 * The pattern of the exports among files of these names: workbooks if there is no CSV, and JSON files if there is neither. They may be
 * compressed or encrypted, and named in capitals.
 */
export function exportPattern(names: readonly string[]): string {
  const endings = names
    .filter((name) => !name.startsWith('.') && !name.startsWith(lockMark))
    .flatMap((name) => exportEnding.exec(name)?.[0] ?? [])
    .toSorted((one, other) => one.length - other.length)
  const [kind = '.csv', ending = kind] =
    kinds
      .map((one) => [one, ...endings.filter((name) => name.toLowerCase().startsWith(one))])
      .find(({ length }) => length > 1) ?? []
  return `*${endings.includes(kind) ? kind : ending}`
}

/** How the name of the file begins that Excel puts beside a workbook while it is open. */
export const lockMark = '~$'
