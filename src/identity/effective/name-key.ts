import { foldValue } from '../mapping/fold-value.ts'

/** A name as HR or the platform writes it. */
export type PersonName = { readonly firstName: string | null; readonly lastName: string | null }

/** A text that two people with the same name share, without regard to case, surrounding blanks and the form of accents; null without a name. */
export function nameKey({ firstName, lastName }: PersonName): string | null {
  const name = [firstName, lastName].map((part) => foldValue(part ?? ''))
  return name.every((part) => part === '') ? null : name.join('\0')
}
