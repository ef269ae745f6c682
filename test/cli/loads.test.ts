import { afterAll, beforeAll, expect, test } from 'vitest'
import { loadsOf } from '../helpers/loads.ts'
import { openWorkplace, type Workplace } from '../helpers/workplace.ts'

let work: Workplace
beforeAll(async () => {
  work = await openWorkplace({ baseUrl: 'http://127.0.0.1:9/public/v2', key: 'key' }, { hasStore: true })
  await work.drop('people.csv', 'Employee ID,First Name,Last Name,Work Email\n1,Ana,Anders,ana@example.com\n')
})
afterAll(() => work[Symbol.asyncDispose]())

test('a plan loads neither what keeps jobs nor what sends requests nor what draws charts, nor what else can be asked for', async () => {
  const { libraries, files } = await loadsOf(['plan', '--config', work.configFile])

  const needless = [
    ...['bullmq', 'ioredis', 'undici', 'cockatiel', 'rate-limiter-flexible', 'chokidar'],
    ...['d3-scale', 'd3-shape', 'fastify', 'openid-client', '@platformatic/prom-client'],
    // Its mapping has no expression, and its export is no zip.
    ...['jsonata', 'yauzl'],
  ]
  const others = ['contract/control/control', 'daemon/control/handlers', 'sync/deliver/deliver', 'connectors/http/open']
  expect(files).toContain('src/sync/plan/dry-run.ts')
  expect(files.filter((file) => others.some((other) => file === `src/${other}.ts`))).toEqual([])
  expect(libraries.filter((name) => needless.includes(name))).toEqual([])
})

test('what only looks works while the queue is down', async () => {
  await using away = await openWorkplace(
    { baseUrl: 'http://127.0.0.1:9/public/v2', key: 'key', queue: 'redis://127.0.0.1:1' },
    { hasStore: true },
  )

  const { exit, stdout } = await away.run('status')

  expect(exit).toBe(0)
  expect(stdout).toContain('Redis at 127.0.0.1:1')
})
