const collator = new Intl.Collator('en', { numeric: true })

/** Orders names by the numbers in them: `delta-9.csv` before `delta-10.csv`. Names that differ are never equal. */
export function compareNames(one: string, other: string): number {
  return collator.compare(one, other) || (one < other ? -1 : Number(one > other))
}

/** The pattern of the exports among files of these names: workbooks if there is no CSV, and JSON files if there is neither. */
export function exportPattern(names: readonly string[]): string {
  const ending = ['.csv', '.xlsx', '.json'].find((one) => names.some((name) => name.endsWith(one)))
  return `*${ending ?? '.csv'}`
}

/** How the name of the file begins that Excel puts beside a workbook while it is open. */
export const lockMark = '~$'
