import { once } from 'node:events'
import { access } from 'node:fs/promises'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Running, startCommand } from '../../helpers/cli.ts'
import { openWorkplace, type Workplace } from '../../helpers/workplace.ts'

const silent = createServer()
const stack = new AsyncDisposableStack()
let work: Workplace
let baseUrl: string
beforeAll(async () => {
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  stack.defer(() => void silent.close())
  const address = silent.address()
  const port = typeof address === 'object' ? address?.port : 0
  baseUrl = `http://127.0.0.1:${port}/public/v2`
  work = stack.use(await openWorkplace({ baseUrl, key: 'key' }, { hasStore: true }))
  await work.drop('people.csv', 'Employee ID,First Name,Last Name,Work Email\n1,Ana,Anders,ana@example.com\n')
})
afterAll(() => stack.disposeAsync())

/** Stops a command once it has asked the platform. */
async function stopped(command: Running) {
  const [socket]: Socket[] = await once(silent, 'connection')
  command.child.kill('SIGINT')
  const ended = await command.ended
  socket?.destroy()
  return ended
}

test.each([
  ['check', ['check']],
  ['doctor', ['doctor', 'out.zip']],
])('%s that is stopped while the platform does not answer says so, and is no bug', async (_name, args) => {
  const { exit, stderr } = await stopped(work.start(...args))

  expect(exit).toBe(130)
  expect(stderr.trim().split('\n').at(-1)).toBe('stopped')
})

test('init that is stopped while the platform does not answer writes nothing', async () => {
  const out = join(work.folder, 'made.yaml')
  const [source, keyFile] = [join(work.folder, 'exports', 'people.csv'), join(work.folder, 'key')]
  const options = ['--platform-url', baseUrl, '--key-file', keyFile, '--out', out]

  const { exit } = await stopped(startCommand(['init', '--yes', '--source', source, ...options]))

  expect(exit).toBe(130)
  await expect(access(out)).rejects.toMatchObject({ code: 'ENOENT' })
})
