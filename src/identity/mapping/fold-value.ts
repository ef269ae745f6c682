/** The form in which values of a closed list are compared: without regard to case and surrounding blanks. */
export function foldValue(value: string): string {
  return value.trim().normalize('NFC').toLowerCase()
}
