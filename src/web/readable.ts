/** Signs that cannot be seen or that turn the direction of a text, as which it could pass for another one. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must not reach a reader.
const unseen = /[\u0000-\u001f\u007f-\u009f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g

/** Text from outside as a page or a table may show it: signs that cannot be seen appear as their codes. */
export function readable(text: string): string {
  return text.toWellFormed().replace(unseen, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

/** `45 s`, `12 min`, `5 h 3 min`, `3 d 4 h`. */
export function span(seconds: number): string {
  const [minutes, hours, days] = [60, 3600, 86_400].map((unit) => Math.floor(seconds / unit)) as [
    number,
    number,
    number,
  ]
  const and = (rest: number, unit: string): string => (rest === 0 ? '' : ` ${rest} ${unit}`)
  if (seconds < 60) return `${seconds} s`
  if (seconds < 3600) return `${minutes} min`
  if (seconds < 86_400) return `${hours} h${and(minutes % 60, 'min')}`
  return `${days} d${and(hours % 24, 'h')}`
}
