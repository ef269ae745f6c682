import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, test } from 'vitest'

const heapMb = 32
const rows = 150_000

/** Reads an export of several times its memory limit. The export is generated while it is read. */
const reading = `
  import { parentPort } from 'node:worker_threads'
  import { readExport } from '${new URL('../../../src/platform/export/read.ts', import.meta.url)}'

  async function* source() {
    yield Buffer.from('{"export":{"of":"rollcall-platform","format":1,"exportedAt":"2026-03-02T10:00:00.000Z","migrations":[]},')
    yield Buffer.from('"sequences":{},"tables":{"people":[')
    for (let id = 1; id <= ${rows}; id++) {
      const row = { id, first: 'first name of ' + id, last: 'last name of ' + id, note: 'x'.repeat(500) + id }
      yield Buffer.from((id === 1 ? '' : ',') + JSON.stringify(row))
    }
    yield Buffer.from(']}}')
  }

  let rows = 0
  for await (const parts of readExport(source())) rows += parts.filter(({ kind }) => kind === 'row').length
  parentPort.postMessage(rows)
`

test('rows are let go of once they are given, however many there are', async () => {
  const worker = new Worker(new URL(`data:text/javascript,${encodeURIComponent(reading)}`), {
    resourceLimits: { maxOldGenerationSizeMb: heapMb },
  })

  const [read] = await once(worker, 'message')

  expect(read).toBe(rows)
})
