import { chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { parse, parseDocument } from 'yaml'
import { z } from 'zod'
import { company, type Person, toCsv } from '../../src/cli/demo/company.ts'
import { Run } from '../../src/contract/control/shapes.ts'
import { findCompose, type Project, startProject } from '../helpers/compose.ts'
import {
  type ComposedControl,
  consoleWindow,
  controlOf,
  peopleIn,
  rollcallIn,
  tokenIn,
  untilReady,
  untilState,
  waiting,
} from '../helpers/composed.ts'
import { followPage } from '../helpers/first-connection.ts'
import { startChromium } from '../helpers/servers/chromium.ts'
import { type ExportFolder, exportFolder } from '../helpers/sources/exports.ts'
import { isFull } from '../helpers/tier.ts'

const buildLimitMs = 600_000
const testLimitMs = 600_000
const rollingLimitMs = 2_400_000
const headcount = isFull ? 5000 : 500
/** So large a part of all that the limit on joiners lets the others pass later. */
const firstCount = headcount * 0.9
/** What the image holds of ours. */
const inImage = [
  'CHANGELOG.md',
  'LICENSE',
  'README.md',
  'SECURITY.md',
  'THIRD-PARTY-NOTICES.md',
  'bin',
  'config',
  'data',
  'docs',
  'exports',
  'node_modules',
  'package-lock.json',
  'package.json',
  'src',
  'trial',
]
/** Packages that only those need who develop. */
const developed = ['@biomejs', 'oidc-provider', 'puppeteer-core', 'testcontainers', 'typescript', 'vitest']
const root = new URL('../../', import.meta.url)

const ComposeFile = z.object({
  services: z.record(
    z.string(),
    z.object({
      image: z.string(),
      ports: z.array(z.string()).default([]),
      healthcheck: z.object({ test: z.array(z.string()) }),
      command: z.union([z.string(), z.array(z.string())]).default(''),
      container_name: z.string().optional(),
      environment: z.record(z.string(), z.string()).default({}),
      read_only: z.boolean().default(false),
      cap_drop: z.array(z.string()).default([]),
      cap_add: z.array(z.string()).default([]),
      security_opt: z.array(z.string()).default([]),
      tmpfs: z.array(z.string()).default([]),
    }),
  ),
  volumes: z.record(z.string(), z.null()),
})

const compose = await findCompose()
const engine = typeof compose === 'string' ? `not run here: ${compose}` : 'run below'

describe(`the container files (${engine})`, () => {
  test('open ports on the loopback only, and check the health of every service', async () => {
    const { services } = await composeFile()

    expect(Object.keys(services).sort()).toEqual(['daemon', 'platform', 'postgres', 'redis', 'worker'])
    expect(Object.values(services).flatMap(({ ports }) => ports)).toEqual([
      expect.stringMatching(/^127\.0\.0\.1:/),
      expect.stringMatching(/^127\.0\.0\.1:/),
    ])
    expect(services.redis?.command).toMatch(/--appendonly yes .*--maxmemory-policy noeviction/)
  })

  test('lock every service in: its root is read-only, and it has only the capabilities it needs', async () => {
    const { services } = await composeFile()

    for (const [name, service] of Object.entries(services)) {
      expect(service, name).toMatchObject({
        read_only: true,
        tmpfs: expect.arrayContaining(['/tmp']),
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
      })
      expect(Object.entries(service.environment).join('\n'), name).not.toMatch(/password|token|secret/i)
    }
    const [daemon, worker] = [services.daemon, services.worker]
    expect([daemon?.cap_add, worker?.cap_add, services.platform?.cap_add]).toEqual([[], [], []])
    // With a port or a name of its own, there could be one worker only.
    expect(worker).toMatchObject({ ports: [], command: ['serve', '--roles=worker'] })
    expect(worker?.container_name).toBeUndefined()
    expect(daemon?.command).toEqual(['serve', '--roles=api,scheduler'])
  })

  test('run the daemon as an account without rights, on the Node that the project is made for', async () => {
    const dockerfile = await readFile(new URL('Dockerfile', root), 'utf8')

    const instructions = dockerfile.split('\n').map((line) => line.trim())

    expect(instructions).toContain('ARG NODE_IMAGE=node:26-slim')
    expect(instructions.filter((line) => line.startsWith('FROM'))).toEqual([
      'FROM ${NODE_IMAGE} AS package',
      'FROM ${NODE_IMAGE}',
    ])
    // The image holds the package that "npm pack" makes, and the lock file.
    expect(instructions).toContain('RUN npm pack --silent \\')
    const copies = instructions.filter((line) => line.startsWith('COPY')).slice(1)
    expect(copies.filter((line) => !line.startsWith('COPY --from=package /package'))).toEqual([])
    expect(instructions).toContain('USER node')
    expect(instructions).toContain('ENTRYPOINT ["/app/bin/rollcall"]')
  })

  test('name the version of the package, in the label and in the name of the image', async () => {
    const { version, license } = await manifest()
    const dockerfile = await readFile(new URL('Dockerfile', root), 'utf8')
    const { services } = await composeFile()

    expect(dockerfile).toContain(`org.opencontainers.image.version="${version}"`)
    expect(dockerfile).toContain(`org.opencontainers.image.licenses="${license}"`)
    expect(services.daemon?.image).toBe(`\${ROLLCALL_IMAGE:-rollcall:${version}}`)
  })

  test('are started, and asked for a run, by the commands of README', async () => {
    expect(await readmeCommands()).toEqual([
      'docker-compose up -d --build',
      'docker-compose exec daemon /app/bin/rollcall resync',
      'docker-compose exec daemon /app/bin/rollcall status',
    ])
  })
})

if (typeof compose !== 'string') {
  describe('the daemon in its container', () => {
    const opened = new AsyncDisposableStack()
    let exports: ExportFolder
    let project: Project
    let control: ComposedControl
    /** What HR says. */
    let staff: readonly Person[] = company({ seed: 7, size: headcount, today: '2026-11-20' })

    beforeAll(async () => {
      exports = opened.use(await exportFolder())
      const folder = await mkdtemp(join(tmpdir(), 'rollcall-compose-'))
      opened.defer(() => rm(folder, { recursive: true, force: true }))
      const config = join(folder, 'rollcall.yaml')
      await writeFile(config, await testedConfig())
      // The daemon runs as another account than the test.
      for (const path of [exports.path, folder]) await chmod(path, 0o755)
      project = opened.use(await startProject(compose, { exports: exports.path, config }))
      await untilReady(project)
      control = await controlOf(project)
    }, buildLimitMs)

    afterAll(() => opened.disposeAsync(), testLimitMs)

    async function setExport(people: readonly Person[]): Promise<void> {
      staff = people
      await exports.write('people.csv', toCsv(people))
    }

    async function startRun(): Promise<string> {
      return (await control.startRun({ params: { connection: 'hr' }, body: {} })).id
    }

    /** Has a run deliver, does something while the platform takes requests and answers none, and tells which run it is. */
    async function inTheMiddle(act: () => Promise<void>): Promise<string> {
      await using _frozen = await project.freeze('platform')
      const id = await startRun()
      await untilState(control, id, 'delivering')
      await act()
      return id
    }

    test('has only what runs in the image, and nothing there can be changed', async () => {
      const listed = await project.inside('daemon', 'ls', '-A', '/app')
      const packages = (await project.inside('daemon', 'ls', '-A', '/app/node_modules')).split('\n')
      const remaining = await project.inImage('ls', '-A', '/tmp', '/root')
      const account = await project.inside('daemon', 'id', '-u')

      expect(listed.trim().split('\n').sort()).toEqual(inImage)
      expect(packages).toContain('fastify')
      expect(packages.filter((name) => developed.includes(name))).toEqual([])
      expect(remaining).not.toMatch(/npm|cache/)
      expect(account.trim()).toBe('1000')
      await expect(project.inside('daemon', 'touch', '/app/data-of-another')).rejects.toThrow('Read-only file system')
    })

    test('has labels in the image, and its history contains no secret', async () => {
      const { version, license } = await manifest()
      const { labels, history } = await project.image()

      expect(labels).toMatchObject({
        'org.opencontainers.image.title': 'Rollcall',
        'org.opencontainers.image.version': version,
        'org.opencontainers.image.licenses': license,
      })
      expect(history.join('\n')).toContain('npm ci --omit=dev')
      expect(history.join('\n')).not.toMatch(/password|token|secret/i)
    })

    test('runs the first connection in a clean container, word for word', {
      tags: ['full'],
      timeout: testLimitMs,
    }, async () => {
      await using container = await project.newContainer()
      const folder = '/opt/rollcall'
      await container.run(`mkdir ${folder} && ln -s /app/bin /app/config ${folder}`, '/')
      const isReady =
        'timeout 500 bash -c "until [ -s platform.key ] && (: < /dev/tcp/127.0.0.1/4010) 2> /dev/null; do sleep 0.2; done"'

      const commands = await followPage({
        folder,
        run: container.run,
        async platform(line, at) {
          await container.start(line, at)
          expect(await container.run(isReady, at)).toMatchObject({ exit: 0 })
          return 'http://127.0.0.1:4010/public/v2'
        },
      })

      expect(commands).toBe(13)
    })

    test('delivers an export that was dropped into its folder', { timeout: testLimitMs }, async () => {
      await exports.write('people.csv', toCsv(staff.slice(0, firstCount)))

      const printed = await rollcallIn(project, 'resync', '--json')

      expect(Run.parse(JSON.parse(printed))).toMatchObject({ state: 'finished', confirmed: firstCount, problems: 0 })
      expect(await platformSays(project)).toEqual(expectedPeople(staff.slice(0, firstCount)))
    })

    test('continues a delivery if one of three workers is killed during it', {
      tags: ['full'],
      timeout: testLimitMs,
    }, async () => {
      await project.compose('up', '--detach', '--no-recreate', '--scale', 'worker=3')
      await setExport(staff)
      const workers = await project.containers('worker')
      const id = await inTheMiddle(() => project.kill(workers[0] ?? ''))

      await untilState(control, id, 'finished')

      expect(workers).toHaveLength(3)
      expect(await platformSays(project)).toEqual(expectedPeople(staff))
    })

    test('recovers if all its processes die during a delivery, and nobody is lost', {
      tags: ['full'],
      timeout: testLimitMs,
    }, async () => {
      // The one that was killed on purpose, too.
      await project.compose('up', '--detach', '--no-recreate', '--scale', 'worker=3')
      const containers = await project.containers('daemon', 'worker')
      const before = await project.restarts(...containers)
      await setExport(withLeavers(staff, 30))
      const id = await inTheMiddle(async () => {
        await project.crash(...containers)
        await untilReady(project)
      })

      await untilState(control, id, 'finished')

      expect(containers).toHaveLength(4)
      expect(await project.restarts(...containers)).toEqual(before.map((count) => count + 1))
      expect(await platformSays(project)).toEqual(expectedPeople(staff))
    })

    test('loses no change while its containers are restarted one after the other under load', {
      tags: ['full'],
      timeout: rollingLimitMs,
    }, async () => {
      await project.compose('up', '--detach', '--no-recreate', '--scale', 'worker=3')
      let isRolling = true
      const rolled = restartUnderLoad(project, control).finally(() => {
        isRolling = false
      })

      for (let night = 1; isRolling; night += 1) {
        await setExport(withLeavers(staff, 1).map((person) => ({ ...person, jobTitle: `Title ${night}` })))
        const id = await vi.waitFor(startRun, waiting)
        await untilState(control, id, 'finished')
      }
      await rolled

      expect(await platformSays(project)).toEqual(expectedPeople(staff))
    })

    test('holds an export that was cut short, until a second person approves it in the browser', {
      tags: ['full'],
      timeout: testLimitMs,
    }, async () => {
      const missing = staff.slice(-400)
      await exports.write('people.csv', toCsv(staff.slice(0, -400)))
      const { browser } = opened.use(await startChromium())
      await using ben = await consoleWindow(browser, project, await tokenIn(project, 'approver', 'Ben Haddad'))
      await using ana = await consoleWindow(browser, project, await tokenIn(project, 'approver', 'Ana Okoro'))
      await ben.press('Read now: hr')
      await ben.press('Read hr now')
      const id = new URL(ben.page.url()).pathname.split('/').at(-1) ?? ''
      await untilState(control, id, 'held')
      const untouched = await platformSays(project)

      const answers: string[] = []
      for (const window of [ben, ana]) {
        await window.go(`/runs/${id}/decision`)
        await window.press('Approve …')
        await window.leave(() => window.page.locator('main button.main').click())
        answers.push(await window.textOf('.notice'))
      }
      await untilState(control, id, 'finished')

      expect(untouched).toEqual(expectedPeople(staff))
      expect(answers).toEqual([
        expect.stringMatching(
          /Ben Haddad requested run .*: "approvals\.twoPeople" requires another person to approve it/,
        ),
        'The plan is approved and is being delivered.',
      ])
      expect(await control.getRun({ params: { runId: id } })).toMatchObject({ decidedBy: 'Ana Okoro', problems: 0 })
      const gone = missing.map((person) => ({ ...person, terminationDate: 'as the export says nothing of them' }))
      expect(await platformSays(project)).toEqual(expectedPeople([...staff.slice(0, -400), ...gone]))
    })

    test('ends in order when it is stopped', { timeout: testLimitMs }, async () => {
      await project.compose('stop', 'worker', 'daemon')

      const log = await project.compose('logs', '--no-color', 'daemon', 'worker')

      const last = Map.groupBy(
        log.split('\n').filter((line) => line.includes('"event"')),
        (line) => line.split(/\s/)[0],
      )
      // A daemon and a worker; more workers where the tests before have started them.
      expect(last.size).toBeGreaterThanOrEqual(2)
      expect([...last.values()].filter((lines) => !lines.at(-1)?.includes('daemon.stopped'))).toEqual([])
    })

    test('keeps what it has delivered when its containers are made anew', { timeout: testLimitMs }, async () => {
      await project.compose('rm', '--force', 'worker', 'daemon')
      await project.compose('up', '--detach')
      await untilReady(project)

      const printed = await rollcallIn(project, 'resync', '--json')

      expect(Run.parse(JSON.parse(printed))).toMatchObject({ state: 'unchanged', problems: 0 })
    })

    test('delivers the sample by the commands of README, which need no export', {
      tags: ['full'],
      timeout: testLimitMs,
    }, async () => {
      const [, ...commands] = await readmeCommands()
      await project.beginAgain()
      await untilReady(project)

      for (const command of commands) {
        await project.compose('exec', '-T', ...command.replace(/^docker-compose exec /, '').split(' '))
      }

      expect((await peopleIn(project)).size).toBe(300)
    })
  })
}

/** Restarts each container of Rollcall's at a moment at which a run delivers. */
async function restartUnderLoad(project: Project, control: ComposedControl): Promise<void> {
  for (const container of await project.containers('daemon', 'worker')) {
    await vi.waitFor(async () => {
      const { data } = await control.listRuns({ query: { limit: 1, state: ['delivering'] } })
      expect(data).toHaveLength(1)
    }, waiting)
    await project.restart(container)
    await vi.waitFor(async () => expect(await project.areHealthy(container)).toBe(true), waiting)
  }
}

/** The same people, of whom this many employed ones have left. */
function withLeavers(people: readonly Person[], count: number): Person[] {
  const leavers = new Set(people.filter(({ terminationDate }) => terminationDate === '').slice(0, count))
  return people.map((person) => (leavers.has(person) ? { ...person, terminationDate: '2026-11-19' } : person))
}

/** What the platform should have of people: the title, and whether they have left. */
function expectedPeople(people: readonly Person[]): string[] {
  return people
    .map(({ workerId, jobTitle, terminationDate }) => `${workerId} ${jobTitle}${terminationDate && ' (left)'}`)
    .sort()
}

async function platformSays(project: Project): Promise<string[]> {
  return [...(await peopleIn(project))]
    .map(([key, { jobTitle, separatedAt }]) => `${key} ${jobTitle}${separatedAt === null ? '' : ' (left)'}`)
    .sort()
}

/** The configuration of the trial, with the rule of two people, and with small batches, so that a delivery takes a while. */
async function testedConfig(): Promise<string> {
  const config = parseDocument(await readFile(new URL('config/examples/compose.yaml', root), 'utf8'))
  config.set('approvals', { twoPeople: true })
  config.setIn(['connections', 'hr', 'delivery'], { batchSize: 50 })
  // A night on which everybody gets another title.
  config.setIn(['connections', 'hr', 'guards'], { fieldChanges: { count: 5000 } })
  return config.toString()
}

async function manifest() {
  const text = await readFile(new URL('package.json', root), 'utf8')
  return z.object({ version: z.string(), license: z.string() }).parse(JSON.parse(text))
}

async function composeFile() {
  const text = await readFile(new URL('docker-compose.yml', root), 'utf8')
  return ComposeFile.parse(parse(text, { merge: true }))
}

/** The commands of README's part about containers. */
async function readmeCommands(): Promise<string[]> {
  const [, part = ''] = (await readFile(new URL('README.md', root), 'utf8')).split('## In a container\n')
  return part.split('```')[1]?.trim().split('\n') ?? []
}
