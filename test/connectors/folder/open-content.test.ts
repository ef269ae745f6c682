import { describe, expect, test } from 'vitest'
import { exportFolder } from '../../helpers/sources/exports.ts'
import { type FolderSettings, openIn, refusalOf, rowsOf } from '../../helpers/sources/folder-source.ts'

const header = 'id,name\n'

describe('content that is not as configured is refused', () => {
  test.for<[string, string | Uint8Array, FolderSettings, string]>([
    [
      'UTF-16 with a mark, declared as UTF-8',
      Buffer.from('\uFEFFid,name\n', 'utf16le'),
      {},
      'people.csv begins with the byte order mark of utf-16le, but the configuration says encoding: utf-8: write encoding: utf-16le',
    ],
    [
      'UTF-8 with a mark, declared as something else',
      '\uFEFFid,name\n',
      { encoding: 'windows-1252' },
      'people.csv begins with the byte order mark of utf-8, but the configuration says encoding: windows-1252: write encoding: utf-8',
    ],
    [
      'UTF-16 without a mark, declared as UTF-8',
      Buffer.from(`${header}1,x\n`, 'utf16le'),
      {},
      'people.csv: the header is not in the configured encoding',
    ],
    [
      'a header with invalid bytes',
      Buffer.from('id,prénom\n', 'latin1'),
      {},
      'people.csv: the header is not in the configured encoding: set encoding to the one of the file, such as windows-1252',
    ],
    [
      'a header with a misplaced quote',
      'id,na"me\n1,x\n',
      {},
      'people.csv:1: a quote in the header is not enclosed and doubled',
    ],
    [
      'a header that never ends',
      `"${'x'.repeat(2_000_000)}`,
      {},
      'people.csv: the row after line 0 is longer than 1 MiB',
    ],
  ])('%s', async ([, content, settings, message]) => {
    const refusal = await refusalOf(() => read(content, settings))

    expect(refusal).toContain(message)
  })

  test.for([
    [
      'a quote that is not closed',
      `${header}1,x\n2,"y\n3,z\n`,
      'people.csv: a quote that opens after line 2 is not closed at the end of the file: the export was cut off',
    ],
    [
      'a record of more than 1 MiB',
      `${header}1,x\n2,${'y'.repeat(1_100_000)}\n3,z\n`,
      'people.csv: the row after line 2 is longer than 1 MiB',
    ],
    [
      'a record of a million cells',
      `${header}1,x\n${','.repeat(1_100_000)}\n3,z\n`,
      'people.csv: the row after line 2 is longer than 1 MiB',
    ],
    [
      'a quote that swallows more than 1 MiB',
      `${header}1,x\n2,"y\n${'3,z\n'.repeat(300_000)}`,
      'people.csv: the row after line 2 is longer than 1 MiB',
    ],
  ])('%s ends the reading', async ([, content = '', message]) => {
    const refusal = await refusalOf(() => read(content))

    expect(refusal).toContain(message)
  })

  test('no value of a person stands in a message', async () => {
    const secret = 'Rumpelstilzchen'

    const refusal = await refusalOf(() => read(`${header}1,"${secret}\n`))

    expect(refusal).not.toContain(secret)
  })
})

async function read(content: string | Uint8Array, settings: FolderSettings = {}): Promise<void> {
  await using folder = await exportFolder()
  await folder.write('people.csv', content)
  await rowsOf(await openIn(folder, settings))
}
