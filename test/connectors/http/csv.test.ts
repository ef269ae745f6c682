import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { readdir, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { openSpool, removeAbandonedSpools } from '../../../src/connectors/http/lists/spool.ts'
import { takeFileLock } from '../../../src/system/file-lock.ts'
import { temporaryFolder } from '../../helpers/sources/folders.ts'
import { csv, openHttp, recordsOf, rowsOf, startHrServer } from '../../helpers/sources/hr-server.ts'

const people = 'Worker ID,Name\n007,Ana\n008,Bo\n'

describe('a CSV export over HTTP', () => {
  test('gives its rows under the name that its address ends with', async () => {
    await using server = await startHrServer(csv(people))
    await using folder = await temporaryFolder()

    const reading = await openHttp(
      { url: `${server.url}/exports/people.csv?key=1`, format: 'csv' },
      { folder: folder.path },
    )
    const rows = await rowsOf(reading)

    expect(reading).toMatchObject({
      mode: 'snapshot',
      asOf: '2026-11-20T12:00:00.000Z',
      headers: ['Worker ID', 'Name'],
      source: {
        name: `127.0.0.1:${server.port}/exports/people.csv`,
        bytes: people.length,
        version: expect.stringMatching(/^sha256:/),
      },
    })
    expect(rows).toEqual([
      { values: ['007', 'Ana'], origin: { file: 'people.csv', line: 2 } },
      { values: ['008', 'Bo'], origin: { file: 'people.csv', line: 3 } },
    ])
  })

  test('is read with the settings of exports', async () => {
    const text = Buffer.from('\uFEFFWorker ID;Name\n007;Zoë\n', 'utf16le')
    await using server = await startHrServer(csv(text))
    await using folder = await temporaryFolder()
    const settings = { url: server.url, format: 'csv', mode: 'delta', delimiter: ';', encoding: 'utf-16le' } as const

    const reading = await openHttp(settings, { folder: folder.path })

    expect(reading.mode).toBe('delta')
    expect(await recordsOf(reading)).toEqual([{ 'Worker ID': '007', Name: 'Zoë' }])
  })

  test.each(['gzip', 'x-gzip', 'GZIP'])('is unpacked where the server packs it unasked (%s)', async (encoding) => {
    await using server = await startHrServer(csv(gzipSync(people), { 'content-encoding': encoding }))
    await using folder = await temporaryFolder()

    const reading = await openHttp({ url: server.url, format: 'csv' }, { folder: folder.path })

    expect(await recordsOf(reading)).toHaveLength(2)
    expect(server.requests[0]?.headers['accept-encoding']).toBe('identity')
  })

  test('has the size of its text, however it is packed', async () => {
    await using server = await startHrServer(csv(gzipSync(people)))
    await using folder = await temporaryFolder()

    const reading = await openHttp({ url: server.url, format: 'csv' }, { folder: folder.path })
    await rowsOf(reading)

    expect(reading.textBytes?.()).toBe(people.length)
  })

  test('lies in a folder and a file of this account alone while it is read, and nowhere afterwards', async () => {
    await using server = await startHrServer(csv(people))
    await using folder = await temporaryFolder()
    const spool = join(folder.path, 'spool')

    const reading = await openHttp({ url: server.url, format: 'csv' }, { folder: folder.path })
    const file = (await readdir(spool)).find((name) => name.endsWith('.part')) ?? ''
    const modes = await Promise.all([stat(spool), stat(join(spool, file))])
    await rowsOf(reading)

    expect(modes.map(({ mode }) => mode & 0o777)).toEqual([0o700, 0o600])
    expect(await readdir(spool)).toEqual([])
  })

  test('removes the files of processes that died, and none of a reading that goes on', async () => {
    await using server = await startHrServer(csv(people))
    await using folder = await temporaryFolder()
    const spool = join(folder.path, 'spool')
    const open = () => openHttp({ url: server.url, format: 'csv' }, { folder: folder.path })
    const current = await open()
    const abandoned = ['a', 'b'].map((letter) => `http-${letter.repeat(36)}`)
    const names = [`${abandoned[0]}.part`, `${abandoned[1]}.part`, `${abandoned[1]}.lock`, 'other.part']
    for (const name of names) await writeFile(join(spool, name), '')

    await rowsOf(await open())

    expect(await rowsOf(current)).toHaveLength(2)
    expect(await readdir(spool)).toEqual(['other.part'])
  })

  test('is removed at the start of a daemon if its process was killed, whatever its connection is called now', async () => {
    await using folder = await temporaryFolder()
    const spool = join(folder.path, 'incoming', 'hr')
    const script = fileURLToPath(new URL('./children/spool-and-die.ts', import.meta.url))
    const child = spawn(process.execPath, [script, spool], { stdio: ['ignore', 'pipe', 'inherit'] })
    await once(child.stdout, 'data')
    await removeAbandonedSpools(join(folder.path, 'incoming'))
    const whileAlive = await readdir(spool)
    child.kill('SIGKILL')
    await once(child, 'exit')

    await removeAbandonedSpools(join(folder.path, 'incoming'))
    await removeAbandonedSpools(join(folder.path, 'missing'))

    expect(whileAlive).toContainEqual(expect.stringMatching(/\.part$/))
    expect(await readdir(spool)).toEqual([])
  })

  test.each([
    ['takes its lock first', () => null],
    [
      'removes its lock before it is held',
      (path: string) => {
        const lock = takeFileLock(path, { timeoutMs: 0 })
        rmSync(path)
        return lock
      },
    ],
  ])('is kept by a process that cleans up, although that one %s', async (_case, takeOnce) => {
    await using folder = await temporaryFolder()
    const path = join(folder.path, 'hr')
    const attempts: string[] = []
    const takeLock: typeof takeFileLock = (file, options) => {
      attempts.push(file)
      return attempts.length === 1 ? takeOnce(file) : takeFileLock(file, options)
    }
    await using spool = await openSpool(path, takeLock)
    await spool.append('people')

    await removeAbandonedSpools(folder.path)

    expect(attempts).toHaveLength(2)
    expect(await readdir(path)).toContainEqual(expect.stringMatching(/\.part$/))
  })

  test('states HR’s data as of its last change on the server, where that is configured', async () => {
    const modified = 'Fri, 20 Nov 2026 01:00:00 GMT'
    await using server = await startHrServer(csv(people, { 'last-modified': modified }))
    await using folder = await temporaryFolder()
    const settings = { url: server.url, format: 'csv', asOf: { from: 'lastModified' } } as const

    const reading = await openHttp(settings, { folder: folder.path })
    await rowsOf(reading)

    expect(reading.asOf).toBe('2026-11-20T01:00:00.000Z')
  })

  test('is refused where that is configured and the server does not say', async () => {
    await using server = await startHrServer(csv(people))
    await using folder = await temporaryFolder()

    const opening = openHttp(
      { url: server.url, format: 'csv', asOf: { from: 'lastModified' } },
      { folder: folder.path },
    )

    await expect(opening).rejects.toThrow(/holds no time at the header Last-Modified: check asOf/)
  })

  test('is refused when it is empty', async () => {
    await using server = await startHrServer(csv(''))
    await using folder = await temporaryFolder()

    const opening = openHttp({ url: `${server.url}/people.csv`, format: 'csv' }, { folder: folder.path })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringContaining('people.csv is empty'),
    })
    expect(await readdir(join(folder.path, 'spool'))).toEqual([])
  })

  test('is refused when nothing says where it ends', async () => {
    await using server = await startHrServer((_request, response) => {
      response.socket?.end(`HTTP/1.0 200 OK\r\ncontent-type: text/csv\r\n\r\n${people}`)
    })
    await using folder = await temporaryFolder()

    const opening = openHttp({ url: server.url, format: 'csv' }, { folder: folder.path })

    await expect(opening).rejects.toMatchObject({
      code: 'source_unreadable',
      message: expect.stringContaining('a part of it could pass for all of it'),
    })
  })
})
