import { once } from 'node:events'
import { createServer, type Socket } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openWorkplace, type Workplace } from '../helpers/workplace.ts'

const silent = createServer()
const stack = new AsyncDisposableStack()
let work: Workplace
beforeAll(async () => {
  silent.listen(0, '127.0.0.1')
  await once(silent, 'listening')
  stack.defer(() => void silent.close())
  const address = silent.address()
  const port = typeof address === 'object' ? address?.port : 0
  work = stack.use(
    await openWorkplace({ baseUrl: `http://127.0.0.1:${port}/public/v2`, key: 'key' }, { hasStore: true }),
  )
  await work.drop('people.csv', 'Employee ID,First Name,Last Name,Work Email\n1,Ana,Anders,ana@example.com\n')
})
afterAll(() => stack.disposeAsync())

test.each([
  ['check', ['check']],
  ['doctor', ['doctor', 'out.zip']],
])('%s that is stopped while the platform does not answer says so, and is no bug', async (_name, args) => {
  const asked = once(silent, 'connection')
  const command = work.start(...args)
  const [socket]: Socket[] = await asked

  command.child.kill('SIGINT')
  const { exit, stderr } = await command.ended
  socket?.destroy()

  expect(exit).toBe(130)
  expect(stderr.trim().split('\n').at(-1)).toBe('stopped')
})
