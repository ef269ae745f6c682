/** The languages in which months may be named. */
export const languages = ['en', 'de'] as const
/** A language whose month names can be read. */
export type Language = (typeof languages)[number]

// All spellings of the short names are read.
const shortNames: Readonly<Record<Language, readonly (readonly string[])[]>> = {
  en: [
    ...[['Jan'], ['Feb'], ['Mar'], ['Apr'], ['May'], ['Jun']],
    ...[['Jul'], ['Aug'], ['Sep', 'Sept'], ['Oct'], ['Nov'], ['Dec']],
  ],
  de: [
    ...[['Jan', 'Jän'], ['Feb'], ['Mär', 'Mrz'], ['Apr'], ['Mai'], ['Jun']],
    ...[['Jul'], ['Aug'], ['Sep', 'Sept'], ['Okt'], ['Nov'], ['Dez']],
  ],
}

const longNames: Readonly<Record<Language, readonly (readonly string[])[]>> = {
  en: [
    ...[['January'], ['February'], ['March'], ['April'], ['May'], ['June']],
    ...[['July'], ['August'], ['September'], ['October'], ['November'], ['December']],
  ],
  de: [
    ...[['Januar', 'Jänner'], ['Februar', 'Feber'], ['März'], ['April'], ['Mai'], ['Juni']],
    ...[['Juli'], ['August'], ['September'], ['Oktober'], ['November'], ['Dezember']],
  ],
}

/** The names of the twelve months, January first; each with all its spellings. */
export function monthNames(length: 'short' | 'long', language: Language): readonly (readonly string[])[] {
  return (length === 'short' ? shortNames : longNames)[language]
}
