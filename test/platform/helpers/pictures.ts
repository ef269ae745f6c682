/** The smallest picture that is a PNG. */
export const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

/** A picture as the field `base64File` carries it. */
export function base64Picture(filename: string, content: Buffer = png): string {
  return JSON.stringify({ filename, base64String: `data:image/png;base64,${content.toString('base64')}` })
}
