import { chmod, readFile } from 'node:fs/promises'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { company, toCsv } from '../../src/cli/demo/company.ts'
import { control, controlPrefix } from '../../src/contract/control/control.ts'
import { Run } from '../../src/contract/control/shapes.ts'
import { customConnections } from '../../src/contract/platform/custom-connections.ts'
import { hrisUserIdentities } from '../../src/contract/platform/hris-user-identities.ts'
import { platformPrefix } from '../../src/contract/platform/platform.ts'
import { createClient } from '../../src/http/client/client.ts'
import { findCompose, type Project, startProject } from '../helpers/compose.ts'
import { type ExportFolder, exportFolder } from '../helpers/sources/exports.ts'
import { peopleOn } from '../helpers/world.ts'

const buildLimitMs = 600_000
const testLimitMs = 180_000
const waiting = { timeout: 120_000, interval: 100 }

const ComposeFile = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string(),
      ports: z.array(z.string()).default([]),
      healthcheck: z.object({ test: z.array(z.string()) }),
      command: z.union([z.string(), z.array(z.string())]).default(''),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
})

const compose = await findCompose()
const engine = typeof compose === 'string' ? `not run here: ${compose}` : 'run below'

describe(`the container files (${engine})`, () => {
  test('open ports on the loopback only, and check the health of every service', async () => {
    const text = await readFile(new URL('../../docker-compose.yml', import.meta.url), 'utf8')

    const { services } = ComposeFile.parse(parse(text))

    expect(Object.keys(services).sort()).toEqual(['daemon', 'platform', 'postgres', 'redis'])
    expect(Object.values(services).flatMap(({ ports }) => ports)).toEqual([
      expect.stringMatching(/^127\.0\.0\.1:/),
      expect.stringMatching(/^127\.0\.0\.1:/),
    ])
    expect(services.redis?.command).toMatch(/--appendonly yes .*--maxmemory-policy noeviction/)
  })

  test('run the daemon as an account without rights, on the Node that the project is made for', async () => {
    const dockerfile = await readFile(new URL('../../Dockerfile', import.meta.url), 'utf8')

    const instructions = dockerfile.split('\n').map((line) => line.trim())

    expect(instructions).toContain('ARG NODE_IMAGE=node:26-slim')
    expect(instructions.filter((line) => line.startsWith('FROM'))).toEqual(['FROM ${NODE_IMAGE}'])
    expect(instructions).toContain('USER node')
    expect(instructions).toContain('ENTRYPOINT ["/app/bin/rollcall"]')
  })
})

if (typeof compose !== 'string') {
  describe('the daemon in its container', () => {
    const people = company({ seed: 7, size: 5000, today: '2026-11-20' })
    const opened = new AsyncDisposableStack()
    let exports: ExportFolder
    let project: Project

    beforeAll(async () => {
      exports = opened.use(await exportFolder())
      // The daemon runs as another account than the test.
      await chmod(exports.path, 0o755)
      project = opened.use(await startProject(compose, exports.path))
      await untilReady(project)
    }, buildLimitMs)

    afterAll(() => opened.disposeAsync(), testLimitMs)

    test('delivers an export that was dropped into its folder', { timeout: testLimitMs }, async () => {
      // So many that the limit on joiners lets the others follow.
      const first = people.slice(0, 4500)
      await exports.write('people-1.csv', toCsv(first))

      const printed = await project.inside('daemon', '/app/bin/rollcall', 'resync', '--json')

      expect(Run.parse(JSON.parse(printed))).toMatchObject({ state: 'finished', confirmed: first.length, problems: 0 })
      expect(await keysOn(project)).toEqual(keysOf(first))
    })

    test('goes on with a delivery in the middle of which it was killed', { timeout: testLimitMs }, async () => {
      await exports.write('people-2.csv', toCsv(people))
      // Frozen, the platform takes requests and answers none, so that the daemon dies while they are under way.
      await project.compose('pause', 'platform')
      const id = await startRun(project)
      await untilState(project, id, 'delivering')
      await project.compose('kill', 'daemon')
      await project.compose('unpause', 'platform')

      await project.compose('start', 'daemon')
      await untilState(project, id, 'finished')

      expect(await keysOn(project)).toEqual(keysOf(people))
    })

    test('ends in order when it is stopped', { timeout: testLimitMs }, async () => {
      await project.compose('stop', 'daemon')

      const log = await project.compose('logs', '--no-color', 'daemon')

      expect(log).toContain('daemon.stopped')
    })
  })
}

function keysOf(people: readonly { readonly workerId: string }[]): string[] {
  return people.map(({ workerId }) => workerId).sort()
}

/** The keys of everybody whom the platform holds, as its own list says. */
async function keysOn(project: Project): Promise<string[]> {
  const key = await project.inside('daemon', 'cat', '/run/rollcall/platform-key')
  const client = createClient(
    { ...customConnections, ...hrisUserIdentities },
    { baseUrl: `http://127.0.0.1:${project.platformPort}${platformPrefix}`, bearer: key.trim() },
  )
  return [...(await peopleOn(client)).keys()].sort()
}

function controlOf({ daemonPort, token }: Project) {
  return createClient(control, { baseUrl: `http://127.0.0.1:${daemonPort}${controlPrefix}`, bearer: token })
}

async function startRun(project: Project): Promise<string> {
  const answer = await controlOf(project).startRun({ params: { connection: 'hr' }, body: {} })
  if (answer.status !== 201) throw new Error(`the daemon answers ${answer.status}`)
  return answer.body.id
}

async function untilReady({ daemonPort }: Project): Promise<void> {
  await vi.waitFor(async () => {
    const { status } = await fetch(`http://127.0.0.1:${daemonPort}/readyz`)
    expect(status).toBe(200)
  }, waiting)
}

async function untilState(project: Project, runId: string, state: Run['state']): Promise<void> {
  const client = controlOf(project)
  await vi.waitFor(async () => {
    expect(await client.getRun({ params: { runId } })).toMatchObject({ status: 200, body: { state } })
  }, waiting)
}
