import { execFile } from 'node:child_process'
import { readFile, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { z } from 'zod'
import type { Config } from '../../src/daemon/config/config.ts'
import { loadConfig } from '../../src/daemon/config/load-config.ts'
import { parseRoles, requireAllRoles } from '../../src/daemon/processes.ts'
import { unknownOptions } from '../helpers/options.ts'
import { tool } from '../helpers/servers/tools.ts'
import { type ExportFolder, exportFolder } from '../helpers/sources/exports.ts'

const run = promisify(execFile)
const root = fileURLToPath(new URL('../../', import.meta.url))
const folders = ['config/kubernetes', 'config/kubernetes/nightly']

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
const Typed = z.object({ apiVersion: z.string(), kind: z.string() })
const Ports = z.array(z.object({ protocol: z.string().optional(), port: z.union([z.number(), z.string()]) }))
const Policy = z.looseObject({
  spec: z.object({
    podSelector: z.object({
      matchLabels: z.record(z.string(), z.string()).optional(),
      matchExpressions: z.array(z.object({ values: z.array(z.string()) })).optional(),
    }),
    policyTypes: z.array(z.string()),
    ingress: z.array(z.object({ from: z.array(z.unknown()), ports: Ports })).optional(),
    egress: z.array(z.object({ ports: Ports })),
  }),
})
const Scrapes = z.object({
  scrape_configs: z.tuple([
    z.looseObject({
      job_name: z.literal('rollcall'),
      relabel_configs: z.array(
        z.object({ source_labels: z.array(z.string()), regex: z.string(), action: z.literal('keep') }),
      ),
    }),
  ]),
})
const ConfigMap = z.looseObject({ data: z.object({ 'rollcall.yaml': z.string() }) })

describe('the manifests for Kubernetes', () => {
  test('run a daemon and workers with options and ports that exist, and a configuration that is valid', async () => {
    await using folder = await exportFolder()
    const documents = await documentsOf('config/kubernetes')
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
    const documents = await documentsOf('config/kubernetes/nightly')
    await configIn(documents, folder)

    const { spec } = CronJob.parse(one(documents, 'CronJob', 'rollcall-nightly'))

    expect(spec.concurrencyPolicy).toBe('Forbid')
    expect(unknownOptions(spec.jobTemplate.spec.template.spec.containers[0].args)).toEqual([])
    expect(spec.jobTemplate.spec.template.spec.containers[0].args).toEqual(['sync'])
  })

  test.each(folders)('lock each process of %s in, with secrets as files', async (folder) => {
    const pods = (await documentsOf(folder)).flatMap(podOf)

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
  })

  test.each(folders)('are what the API of Kubernetes takes: %s', async (folder) => {
    const documents = await documentsOf(folder)

    expect(await faultsOf(documents)).toEqual([])
  })

  test('a misspelt setting and a wrong value are found', async () => {
    const meta = { name: 'rollcall' }
    const policy = { apiVersion: 'networking.k8s.io/v1', kind: 'NetworkPolicy', metadata: meta }

    const faults = await faultsOf([
      { ...policy, spec: { podSelectors: {}, policyTypes: ['Ingress'] } },
      { ...policy, spec: { podSelector: {}, policyTypes: ['Ingres'] } },
      { ...policy, spec: { podSelector: {}, egress: [{ ports: [{ ports: 443 }] }] } },
    ])

    expect(faults).toEqual([
      expect.stringContaining('policyTypes/0 must be equal to one of the allowed values'),
      expect.stringContaining('podSelectors"\' does not exist'),
      expect.stringContaining('\'"Ingres"\' is not assignable'),
      expect.stringContaining('ports"\' does not exist'),
    ])
  })

  test.each(folders)('let each process talk only to where it has to: %s', async (folder) => {
    const documents = await documentsOf(folder)
    const policies = documents.filter((document) => Named.parse(document).kind === 'NetworkPolicy')
    const { spec } = Policy.parse(policies[0])
    const apps = documents.flatMap(labelsOf)

    const { matchLabels, matchExpressions = [] } = spec.podSelector
    const selected = [...Object.values(matchLabels ?? {}), ...matchExpressions.flatMap(({ values }) => values)]

    expect(policies).toHaveLength(1)
    expect(selected.sort()).toEqual(apps.sort())
    expect(spec.policyTypes).toEqual(['Ingress', 'Egress'])
    for (const { from, ports } of spec.ingress ?? []) {
      expect(from.length).toBeGreaterThan(0)
      expect(ports).toEqual([{ protocol: 'TCP', port: 8686 }])
    }
    expect(spec.egress.flatMap(({ ports }) => ports).every(({ port }) => typeof port === 'number')).toBe(true)
  })

  test('are scraped process by process', async () => {
    const documents = await documentsOf('config/kubernetes')
    const { scrape_configs } = Scrapes.parse(
      parse(await readFile(join(root, 'config/prometheus/kubernetes.yaml'), 'utf8')),
    )
    const { relabel_configs } = scrape_configs[0]
    const kept = relabel_configs.flatMap(({ source_labels, regex }) => source_labels.map((label) => [label, regex]))

    expect(kept).toEqual([
      ['__meta_kubernetes_pod_label_app', documents.flatMap(labelsOf).sort().join('|')],
      ['__meta_kubernetes_pod_container_port_name', 'http'],
    ])
  })

  test('restart with another configuration, because its name changes with it', async () => {
    const documents = await documentsOf('config/kubernetes')

    const [map] = documents.filter((document) => Named.parse(document).kind === 'ConfigMap')
    const { name } = Named.parse(map).metadata

    expect(name).toMatch(/^rollcall-\w{10}$/)
    for (const pod of documents.flatMap(podOf))
      expect(pod.volumes).toContainEqual(expect.objectContaining({ configMap: { name } }))
  })
})

/** What `kubectl apply -k` would send for a folder. */
async function documentsOf(folder: string): Promise<unknown[]> {
  const documents = parseAllDocuments(await tool('kubectl', 'kustomize', join(root, folder)))
  return documents.map((document) => {
    expect(document.errors).toEqual([])
    return document.toJS()
  })
}

/** What the schemas of Kubernetes and its types find wrong; the types also find settings that do not exist. */
async function faultsOf(documents: readonly unknown[]): Promise<string[]> {
  const invalid = await Promise.all(documents.map(schemaFault))
  return [...invalid.flat(), ...(await typeFaults(documents))]
}

async function schemaFault(document: unknown): Promise<string[]> {
  const { apiVersion, kind } = Typed.parse(document)
  const models = import.meta.resolve(`kubernetes-models/${apiVersion}`)
  const kinds = await import(models)
  try {
    new kinds[kind](document).validate()
    return []
  } catch (error) {
    return [String(error)]
  }
}

/** Each document as a literal of its type, which TypeScript then checks. */
async function typeFaults(documents: readonly unknown[]): Promise<string[]> {
  await using folder = await exportFolder()
  await symlink(join(root, 'node_modules'), join(folder.path, 'node_modules'))
  const lines = documents.map((document, index) => {
    const { apiVersion, kind } = Typed.parse(document)
    const { apiVersion: _, kind: __, ...rest } = Typed.loose().parse(document)
    const type = `import('kubernetes-models/${apiVersion}').I${kind}`
    return `export const document${index}: Omit<${type}, 'apiVersion' | 'kind'> = ${JSON.stringify(rest)}`
  })
  const file = await folder.write('documents.ts', lines.join('\n'))
  const options = ['--noEmit', '--strict', '--skipLibCheck', '--module', 'nodenext', '--target', 'esnext']
  const words = ['tsc', ...options, '--types', '', '--pretty', 'false', '--ignoreConfig', file]
  const { stdout } = await run('npx', words, { cwd: root }).catch((error) => error)
  return [...String(stdout).matchAll(/: error TS\d+: (.*)/g)].map(([, fault = '']) => fault)
}

function labelsOf(document: unknown): string[] {
  const { kind } = Named.parse(document)
  if (kind !== 'Deployment' && kind !== 'CronJob') return []
  return [...JSON.stringify(document).matchAll(/"labels":\{"app":"([^"]+)"\}/g)].map(([, app = '']) => app)
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
