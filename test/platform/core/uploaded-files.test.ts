import { expect, test } from 'vitest'
import { decodeFile } from '../../../src/platform/core/uploaded-files.ts'

const decode = (base64String: string) => decodeFile('base64File', { filename: 'settings.png', base64String })

test.each([
  ['data:image/png;base64,YWJj', 'image/png'],
  ['data:image/png;name=x;charset=y;base64,YWJj', 'image/png'],
  ['data:;base64,YWJj', 'application/octet-stream'],
  ['YWJj', 'application/octet-stream'],
])('the media type of %s is %s', (text, mediaType) => {
  expect(decode(text)).toMatchObject({ mediaType, content: Buffer.from('abc') })
})

test.each([
  ['letters', `data:${'a'.repeat(200_000)}`],
  ['semicolons', `data:${';'.repeat(200_000)}`],
  ['parameters', `data:${'a;'.repeat(100_000)}`],
])('a hostile text of %s costs no more than its length', (_case, text) => {
  const startedMs = performance.now()

  expect(() => decode(text)).toThrow('is not encoded in base64')

  expect(performance.now() - startedMs).toBeLessThan(2000)
})
