import { open, readdir } from 'node:fs/promises'
import { join } from 'node:path'

/** A page of a relation whose bytes are not those that PostgreSQL wrote. `file` is relative to the data folder. */
export type DamagedPage = { readonly file: string; readonly filenode: number; readonly page: number }

const pageBytes = 8192
const pagesAtOnce = 128
const pagesPerSegment = 131_072
/** The main and visibility forks. PostgreSQL repairs the map of free space by itself, so that one is not looked at. */
const relationFile = /^(\d+)(?:_vm)?(?:\.(\d+))?$/

const lanes = 32
const wordsPerPage = pageBytes / 4
const prime = 16_777_619
const blankRounds = 2
/** The start values of PostgreSQL's page checksum (checksum_impl.h), one for each lane. */
const laneStarts = Int32Array.from([
  ...[0x5b1f36e9, 0xb8525960, 0x02ab50aa, 0x1de66d2a, 0x79ff467a, 0x9bb9f8a3, 0x217e7cd2, 0x83e13d2c],
  ...[0xf8d4474f, 0xe39eb970, 0x42c6ae16, 0x993216fa, 0x7b093b5d, 0x98daff3c, 0xf718902a, 0x0b1c9cdb],
  ...[0xe58f764b, 0x187636bc, 0x5d7b3bb1, 0xe73de7de, 0x92bec979, 0xcca6c0b2, 0x304a0979, 0x85aa43d4],
  ...[0x783125bb, 0x6ca8eaa2, 0xe407eac6, 0x4b5cfc3e, 0x9fbf8c76, 0x15ca20be, 0xf2ca9fd3, 0x959bd756],
])

/**
 * Reads the relations in folders of a data folder (`base/5`, `global`) and compares each page with its checksum. PostgreSQL does so only
 * when it reads a page, which for some pages is months later. No other process may write to the files meanwhile.
 */
export async function damagedPages(dataFolder: string, folders: readonly string[]): Promise<DamagedPage[]> {
  const found: DamagedPage[] = []
  const buffer = Buffer.alloc(pagesAtOnce * pageBytes)
  for (const folder of folders) {
    for (const name of await readdir(join(dataFolder, folder))) {
      const [, filenode, segment = '0'] = relationFile.exec(name) ?? []
      if (filenode === undefined) continue
      const file = join(folder, name)
      const firstPage = Number(segment) * pagesPerSegment
      for await (const page of damagedIn(join(dataFolder, file), { firstPage, buffer }))
        found.push({ file, filenode: Number(filenode), page })
    }
  }
  return found
}

async function* damagedIn(
  path: string,
  { firstPage, buffer }: { firstPage: number; buffer: Buffer },
): AsyncGenerator<number> {
  await using file = await open(path, 'r')
  for (let page = firstPage; ; ) {
    const { bytesRead } = await file.read(buffer, 0, buffer.length, (page - firstPage) * pageBytes)
    for (let start = 0; start < bytesRead; start += pageBytes, page++) {
      if (start + pageBytes > bytesRead || !isIntact(buffer, start, page)) yield page
    }
    if (bytesRead < buffer.length) return
  }
}

function isIntact(buffer: Buffer, start: number, page: number): boolean {
  const checksumAt = start + 8
  const upperAt = start + 14
  const stored = buffer.readUInt16LE(checksumAt)
  // A page that was added and not written yet is blank.
  if (buffer.readUInt16LE(upperAt) === 0)
    return stored === 0 && buffer.subarray(start, start + pageBytes).every((byte) => byte === 0)
  buffer.writeUInt16LE(0, checksumAt)
  return stored === checksumOf(new Int32Array(buffer.buffer, buffer.byteOffset + start, wordsPerPage), page)
}

function checksumOf(words: Int32Array, page: number): number {
  let folded = 0
  for (let lane = 0; lane < lanes; lane++) {
    let sum = laneStarts[lane] ?? 0
    for (let at = lane; at < wordsPerPage; at += lanes) {
      const both = sum ^ (words[at] ?? 0)
      sum = Math.imul(both, prime) ^ (both >>> 17)
    }
    for (let round = 0; round < blankRounds; round++) sum = Math.imul(sum, prime) ^ (sum >>> 17)
    folded ^= sum
  }
  return (((folded ^ page) >>> 0) % 65_535) + 1
}
