/** `45 s`, `12 min`, `5 h 3 min`, `3 d 4 h`. */
export function formatSeconds(seconds: number): string {
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
