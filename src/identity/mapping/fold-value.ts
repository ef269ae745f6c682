/** What two values of a closed list must share to be the same: they differ neither by case nor by blanks around them. */
export function foldValue(value: string): string {
  return value.trim().normalize('NFC').toLowerCase()
}
