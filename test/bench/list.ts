import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { z } from 'zod'
import { Watched } from './tasks.ts'

const run = promisify(execFile)
const pageSize = 500
const Served = z.object({ url: z.string() })

/** A list that is read, and how often its pages are requested. */
const lists = [
  { label: 'cursor', path: '/cursor', rounds: 1, pages: { by: 'cursor', next: '/meta/next', parameter: 'offset' } },
  {
    label: 'offset, total',
    path: '/total',
    rounds: 1,
    pages: { by: 'offset', parameter: 'offset', total: '/meta/total' },
  },
  { label: 'offset, no total', path: '/offset', rounds: 2, pages: { by: 'offset', parameter: 'offset' } },
] as const

/** How a list was read, and what a bare loop of the same requests needed before and after. */
export type ReadList = { readonly label: string; readonly ours: Watched; readonly bare: readonly [Watched, Watched] }

/** Reads lists of the given numbers of people over HTTP, between two bare loops that parse and count the same pages. */
export async function measureLists(people: number): Promise<ReadList[]> {
  await using server = await startPeople(people)
  const results: ReadList[] = []
  for (const { label, path, rounds, pages } of lists) {
    process.stderr.write(`${people} people by ${label} …\n`)
    const url = `${server.url}${path}`
    const measureBare = () => measureTask('task-fetch-bare.ts', url, `${pageSize}`, `${rounds}`)
    const before = await measureBare()
    const ours = await measureTask('task-fetch.ts', url, JSON.stringify(pages))
    const bare = [before, await measureBare()] as const
    for (const { count } of [ours, ...bare])
      if (count !== people) throw new Error(`${label}: ${count} of ${people} people`)
    results.push({ label, ours, bare })
  }
  return results
}

async function measureTask(script: string, ...words: string[]): Promise<Watched> {
  const { stdout } = await run(process.execPath, [pathOf(script), ...words])
  return Watched.parse(JSON.parse(stdout))
}

async function startPeople(people: number) {
  const child = spawn(process.execPath, [pathOf('task-people.ts'), `${people}`, `${pageSize}`], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'exit')
  const { value } = await createInterface(child.stdout)[Symbol.asyncIterator]().next()
  const { url } = Served.parse(JSON.parse(value ?? 'null'))
  return {
    url,
    async [Symbol.asyncDispose]() {
      child.stdin.end()
      await ended
    },
  }
}

function pathOf(name: string): string {
  return fileURLToPath(new URL(name, import.meta.url))
}
