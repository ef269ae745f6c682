import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { createProgram } from '../../src/cli/program.ts'
import type { Config } from '../../src/daemon/config/config.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { parseRoles, requireAllRoles } from '../../src/daemon/processes.ts'
import { tool } from '../helpers/servers/tools.ts'
import { type ExportFolder, exportFolder } from '../helpers/sources/exports.ts'

const root = fileURLToPath(new URL('../../', import.meta.url))
const examples = join(root, 'config/examples')
const units = join(examples, 'systemd')
/** Maximum exposure that systemd may report, in tenths of its scale of 0 to 10. Its own services have between 20 and 96. */
const mostExposed = 20

const Probe = z.object({ httpGet: z.object({ path: z.string(), port: z.literal('http') }) })
const Pod = z.object({
  automountServiceAccountToken: z.boolean(),
  terminationGracePeriodSeconds: z.number(),
  securityContext: z.unknown(),
  containers: z.tuple([
    // Strict: a secret in `env` is found.
    z.strictObject({
      name: z.string(),
      image: z.string(),
      args: z.array(z.string()),
      ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]),
      securityContext: z.unknown(),
      startupProbe: Probe.optional(),
      livenessProbe: Probe.optional(),
      readinessProbe: Probe.optional(),
      resources: z.object({
        requests: z.object({ cpu: z.string(), memory: z.string() }),
        limits: z.object({ memory: z.string() }),
      }),
      volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string() })),
    }),
  ]),
  volumes: z.array(z.looseObject({ name: z.string() })),
})
type Pod = z.infer<typeof Pod>
const Template = z.object({ spec: Pod })
const Named = z.looseObject({ kind: z.string(), metadata: z.object({ name: z.string() }) })
const Deployment = z.looseObject({ spec: z.looseObject({ replicas: z.number(), template: Template }) })
const CronJob = z.looseObject({
  spec: z.looseObject({
    concurrencyPolicy: z.string(),
    jobTemplate: z.object({ spec: z.looseObject({ template: Template }) }),
  }),
})
const ConfigMap = z.looseObject({ data: z.object({ 'rollcall.yaml': z.string() }) })

describe('the examples for Kubernetes', () => {
  test('run a daemon and workers with options and ports that exist, and a configuration that is valid', async () => {
    await using folder = await exportFolder()
    const documents = await documentsOf('kubernetes.yaml')
    const config = await configIn(documents, folder)

    const daemon = Deployment.parse(one(documents, 'Deployment', 'rollcall')).spec
    const workers = Deployment.parse(one(documents, 'Deployment', 'rollcall-worker')).spec

    const roles = [daemon, workers].flatMap(({ template }) => rolesOf(template.spec, config))
    expect(roles.sort()).toEqual(['api', 'scheduler', 'worker'])
    expect([daemon.replicas, workers.replicas]).toEqual([1, 3])
    for (const { template } of [daemon, workers]) {
      const [container] = template.spec.containers
      const { startupProbe, livenessProbe, readinessProbe, ports } = container
      const paths = [startupProbe, livenessProbe, readinessProbe].map((probe) => probe?.httpGet.path)
      expect(paths).toEqual(['/healthz', '/healthz', '/readyz'])
      expect(ports).toEqual([{ name: 'http', containerPort: config.server.port }])
      // Kubernetes does not send probes to the loopback of a container.
      expect(config.server.host).toBe('0.0.0.0')
    }
    expect(one(documents, 'Service', 'rollcall')).toMatchObject({
      spec: { ports: [{ port: config.server.port, targetPort: 'http' }] },
    })
    // All processes sign with one key.
    expect(config.audit.signingKey).not.toBeNull()
  })

  test('run once a night without a daemon, and never two runs at a time', async () => {
    await using folder = await exportFolder()
    const documents = await documentsOf('kubernetes-cronjob.yaml')
    await configIn(documents, folder)

    const { spec } = CronJob.parse(one(documents, 'CronJob', 'rollcall-nightly'))

    expect(spec.concurrencyPolicy).toBe('Forbid')
    expect(unknownOptions(spec.jobTemplate.spec.template.spec.containers[0].args)).toEqual([])
    expect(spec.jobTemplate.spec.template.spec.containers[0].args).toEqual(['sync'])
  })

  test.each(['kubernetes.yaml', 'kubernetes-cronjob.yaml'])(
    'lock each process of %s in, with secrets as files',
    async (file) => {
      const pods = (await documentsOf(file)).flatMap(podOf)

      expect(pods.length).toBeGreaterThan(0)
      for (const pod of pods) {
        const [container] = pod.containers
        expect(pod.automountServiceAccountToken).toBe(false)
        expect(pod.terminationGracePeriodSeconds).toBeGreaterThan(20)
        expect(pod.securityContext).toMatchObject({
          runAsNonRoot: true,
          runAsUser: 1000,
          seccompProfile: { type: 'RuntimeDefault' },
        })
        expect(container.securityContext).toEqual({
          readOnlyRootFilesystem: true,
          allowPrivilegeEscalation: false,
          capabilities: { drop: ['ALL'] },
        })
        const mounts = Object.fromEntries(container.volumeMounts.map(({ name, mountPath }) => [name, mountPath]))
        expect(mounts).toEqual({
          tmp: '/tmp',
          data: '/app/data',
          exports: '/app/exports',
          secrets: '/run/secrets',
          config: '/app/config/rollcall.yaml',
        })
        expect(pod.volumes.map(({ name }) => name)).toEqual(Object.keys(mounts))
        expect(pod.volumes).toContainEqual(
          expect.objectContaining({ secret: { secretName: 'rollcall', defaultMode: 0o440 } }),
        )
      }
    },
  )
})

describe('the examples for systemd', () => {
  test('are units that systemd accepts and rates as little exposed', async () => {
    await using folder = await exportFolder()
    const copies = await copiedUnits(folder)

    const verified = await tool('systemd-analyze', 'verify', '--man=no', ...copies)
    const services = copies.filter((path) => path.endsWith('.service'))
    const threshold = `--threshold=${mostExposed}`
    const judged = await Promise.all(
      services.map((path) => tool('systemd-analyze', 'security', '--offline=true', '--no-pager', threshold, path)),
    )

    expect(copies.map((path) => basename(path))).toEqual([
      'rollcall-sync.service',
      'rollcall-sync.timer',
      'rollcall.service',
    ])
    expect(verified).not.toContain('rollcall')
    expect(judged.join('\n').match(/Overall exposure level/g)).toHaveLength(2)
  })

  test('call commands and options that exist, and stop later than the daemon does', async () => {
    const [serve, sync] = await Promise.all(['rollcall.service', 'rollcall-sync.service'].map(settingsOf))

    for (const [settings, command] of [
      [serve, 'serve'],
      [sync, 'sync'],
    ] as const) {
      const words = settings?.get('ExecStart')?.split(' ').slice(1) ?? []
      expect(words).toEqual([command, '--config', '/etc/rollcall/rollcall.yaml'])
      expect(unknownOptions(words)).toEqual([])
      expect(Number(settings?.get('TimeoutStopSec'))).toBeGreaterThan(20)
      expect(settings?.get('LoadCredential')).toBe('platform_api_key:/etc/rollcall/platform_api_key')
    }
    expect(serve?.get('ExecReload')).toBe('/bin/kill -HUP $MAINPID')
    expect((await settingsOf('rollcall-sync.timer')).get('Persistent')).toBe('true')
  })
})

async function documentsOf(file: string): Promise<unknown[]> {
  // Kubernetes reads YAML 1.1, in which 0440 is octal.
  const documents = parseAllDocuments(await readFile(join(examples, file), 'utf8'), { version: '1.1' })
  return documents.map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS()
  })
}

function one(documents: readonly unknown[], kind: string, name: string): unknown {
  const matches = documents.filter((document) => {
    const named = Named.parse(document)
    return named.kind === kind && named.metadata.name === name
  })
  expect(matches, `${kind} ${name}`).toHaveLength(1)
  return matches[0]
}

function podOf(document: unknown): Pod[] {
  const { kind } = Named.parse(document)
  if (kind === 'Deployment') return [Deployment.parse(document).spec.template.spec]
  return kind === 'CronJob' ? [CronJob.parse(document).spec.jobTemplate.spec.template.spec] : []
}

/** The configuration of the example, with its secrets in place. */
async function configIn(documents: readonly unknown[], folder: ExportFolder): Promise<Config> {
  const [map] = documents.filter((document) => Named.parse(document).kind === 'ConfigMap')
  const secret = await folder.write('secret', 'postgres://db/rollcall\n')
  const redis = await folder.write('redis', 'redis://queue\n')
  const text = ConfigMap.parse(map).data['rollcall.yaml']
  const placed = text.replaceAll('/run/secrets/redis_url', redis).replaceAll(/\/run\/secrets\/\w+/g, secret)
  return await loadConfig(await folder.write('rollcall.yaml', placed), {})
}

function rolesOf({ containers: [{ args }] }: Pod, config: Config) {
  expect(unknownOptions(args)).toEqual([])
  const roles = parseRoles(args.find((word) => word.startsWith('--roles='))?.slice('--roles='.length) ?? '')
  expect(() => requireAllRoles(config, roles)).not.toThrow()
  return roles
}

/** The words of a command line that no command has. */
function unknownOptions([name, ...words]: readonly string[]): string[] {
  const command = createProgram(() => {}).commands.find((known) => known.name() === name)
  const flags = command?.options.map(({ long }) => long) ?? []
  const given = words.filter((word) => word.startsWith('--')).map((word) => word.replace(/=.*/, ''))
  return [...(command ? [] : [name ?? '']), ...given.filter((flag) => !flags.includes(flag))]
}

/** The units in one folder, with the path of the program on this machine. */
async function copiedUnits(folder: ExportFolder): Promise<string[]> {
  const unitFolder = join(folder.path, 'units')
  await mkdir(unitFolder)
  return await Promise.all(
    (await readdir(units)).sort().map(async (name) => {
      const text = await readFile(join(units, name), 'utf8')
      await writeFile(join(unitFolder, name), text.replace('/usr/local/bin/rollcall', join(root, 'bin/rollcall')))
      return join(unitFolder, name)
    }),
  )
}

async function settingsOf(unit: string): Promise<Map<string, string>> {
  const lines = (await readFile(join(units, unit), 'utf8')).split('\n').filter((line) => /^\w+=/.test(line))
  return new Map(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}
