/** The form in which values of a closed list are compared: without regard to case, surrounding blanks and the kind of line ends. */
export function foldValue(value: string): string {
  const folded = value.trim().normalize('NFC').toLowerCase()
  // Browsers send each line end of a form as CRLF.
  return folded.includes('\r') ? folded.replaceAll(/\r\n?/g, '\n') : folded
}
