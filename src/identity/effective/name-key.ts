/** A name as HR or the platform writes it. */
export type PersonName = { readonly firstName: string | null; readonly lastName: string | null }

/** A text that two people with the same name share, without regard to case, surrounding blanks and the form of accents; null without a name. */
export function nameKey({ firstName, lastName }: PersonName): string | null {
  const name = [firstName, lastName].map((part) => foldName(part ?? ''))
  return name.every((part) => part === '') ? null : name.join('\0')
}

/** The form in which names are compared. */
export function foldName(name: string): string {
  return name.trim().normalize('NFC').toLowerCase()
}
