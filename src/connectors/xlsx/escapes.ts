const escaped = /_x([0-9A-Fa-f]{4})_/g

/** Decodes characters that XML cannot hold, such as `_x000D_`. A literal `_x` is written `_x005F_x`. */
export function decodeEscapes(text: string): string {
  if (!text.includes('_x')) return text
  return text.replaceAll(escaped, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 16)))
}
